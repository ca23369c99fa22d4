// SPDX-License-Identifier: MIT
//
// The engine of tasks (sim/engine.h) on SimGrid: a memory node is a host, a channel a link, a way a route. A kernel is
// an execution on the host of its worker's memory: of one core if it is a device, so that kernels share it, and of as
// many as it has if it is a machine's memory. A copy is a communication between two hosts.
//
// The simulator is an actor; `next` blocks it until something has ended. All activities are started by the kernel of
// SimGrid ("maestro"), which then tells of their ends by a callback and does not wait to be asked: so what the
// simulator begins is collected, and started when it blocks, which is at the same time of the clock.
//
// SimGrid knows sharing and time; lines and latency are kept here. Lines, because it has no links that serve one after
// the other. Latency, because its models of networks divide a link in proportion to the latency of the routes that
// cross it, and limit rates by it, as TCP does: so links have none, and a timer comes before each communication.
#include "sim/simgrid/module.h"
#include "sim/simgrid/platform.h"

#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <simgrid/simix.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <queue>
#include <string>
#include <vector>

namespace sg4 = simgrid::s4u;

namespace {

struct Work {
    uint64_t ticket;
    uint64_t order;                  // counts what begins
    sg4::Host *host = nullptr;       // of a kernel; none: a timer
    double amount = 0;               // seconds, or bytes
    const thrum__way *way = nullptr; // of a copy, from `host` to `target`
    sg4::Host *target = nullptr;
    bool started = false;
    sg4::ActivityPtr activity; // held until the simulator has heard of its end: SimGrid uses it after the callback

    Work(uint64_t its_ticket, uint64_t its_order) : ticket(its_ticket), order(its_order)
    {
    }
};

struct LaterFirst {
    bool operator()(const Work *a, const Work *b) const
    {
        return a->order > b->order;
    }
};

} // namespace

struct thrum__engine {
    const thrum__layout *layout;
    std::vector<sg4::Host *> hosts; // by memory node
    std::vector<std::deque<Work *>>
        waiting;               // by channel, of lines: copies in the order of their beginning; the first has the line
    std::vector<Work *> begun; // ready to start, which the simulator has not given SimGrid the chance to do yet
    std::priority_queue<Work *, std::vector<Work *>, LaterFirst> ended;
    sg4::SemaphorePtr bell;
    bool asleep = false;
    uint64_t orders = 0;
    uint64_t under_way = 0;
    // When all would be done that shares a device, and all copies, one after the other: no end is later.
    std::vector<double> kernels_until; // by memory node
    double copies_until = 0;
};

// ---- What ends and starts: in the kernel of SimGrid -----------------------------------------------------------------

static void start(thrum__engine *engine, Work *work);

static bool may_start(const thrum__engine *engine, const Work *copy)
{
    if (copy->started)
        return false;
    for (int i = 0; i < copy->way->count; i++) {
        int channel = copy->way->channel[i];
        if (engine->layout->channels[channel].line && engine->waiting[channel].front() != copy)
            return false;
    }
    return true;
}

// Gives the lines of the copy to those behind it. One that is started may end at once, and so start others of them.
static void leave_lines(thrum__engine *engine, const Work *copy)
{
    std::vector<Work *> next;
    for (int i = 0; i < copy->way->count; i++) {
        int channel = copy->way->channel[i];
        if (!engine->layout->channels[channel].line)
            continue;
        std::deque<Work *> &line = engine->waiting[channel];
        line.pop_front();
        if (!line.empty() && std::find(next.begin(), next.end(), line.front()) == next.end())
            next.push_back(line.front());
    }
    std::sort(next.begin(), next.end(), [](const Work *a, const Work *b) { return a->order < b->order; });
    for (Work *it : next)
        if (may_start(engine, it))
            start(engine, it);
}

static void end(thrum__engine *engine, Work *work)
{
    engine->ended.push(work);
    if (work->way)
        leave_lines(engine, work);
    if (engine->asleep) {
        engine->asleep = false;
        engine->bell->release();
    }
}

static void flow(thrum__engine *engine, Work *copy)
{
    double narrowest = INFINITY;
    for (int i = 0; i < copy->way->count; i++)
        narrowest = std::min(narrowest, engine->layout->channels[copy->way->channel[i]].bandwidth);
    if (copy->amount <= 0 || std::isinf(narrowest)) {
        end(engine, copy);
        return;
    }
    sg4::CommPtr comm = sg4::Comm::sendto_init(copy->host, copy->target);
    comm->set_payload_size((uint64_t)copy->amount);
    comm->set_data(copy);
    copy->activity = comm;
    comm->start();
}

static void execute(Work *kernel)
{
    sg4::ExecPtr exec = sg4::Exec::init();
    exec->set_flops_amount(kernel->amount)->set_host(kernel->host)->set_data(kernel);
    kernel->activity = exec;
    exec->start();
}

static void start(thrum__engine *engine, Work *work)
{
    work->started = true;
    if (!work->host && work->amount > 0)
        simgrid::kernel::timer::Timer::set(sg4::Engine::get_clock() + work->amount,
                                           [engine, work] { end(engine, work); });
    else if (!work->way && work->amount > 0)
        execute(work);
    else if (!work->way)
        end(engine, work);
    else if (work->way->latency > 0)
        simgrid::kernel::timer::Timer::set(sg4::Engine::get_clock() + work->way->latency,
                                           [engine, work] { flow(engine, work); });
    else
        flow(engine, work);
}

// ---- The engine's operations: in the actor -------------------------------------------------------------------------

static thrum__engine *the_engine; // SimGrid has one in a process

static thrum__engine *open_engine(const thrum__layout *layout)
{
    return layout == the_engine->layout ? the_engine : nullptr;
}

static void close_engine(thrum__engine *)
{
}

static double now(const thrum__engine *)
{
    return sg4::Engine::get_clock();
}

static Work *begin(thrum__engine *engine, uint64_t ticket)
{
    engine->under_way++;
    return new Work(ticket, engine->orders++);
}

static double after(double until, double seconds)
{
    double end = std::max(until, sg4::Engine::get_clock()) + seconds;
    thrum__platform_reach(end);
    return end;
}

static int begin_kernel(thrum__engine *engine, int worker, double seconds, uint64_t ticket)
{
    int node = engine->layout->places[worker].node;
    Work *kernel = begin(engine, ticket);
    kernel->host = engine->hosts[node];
    kernel->amount = seconds;
    if (engine->layout->node_kind[node] == THRUM__CORE)
        after(0, seconds);
    else
        engine->kernels_until[node] = after(engine->kernels_until[node], seconds);
    engine->begun.push_back(kernel);
    return 0;
}

static int begin_copy(thrum__engine *engine, int from, int to, double bytes, uint64_t ticket)
{
    const thrum__layout *layout = engine->layout;
    Work *copy = begin(engine, ticket);
    copy->host = engine->hosts[from];
    copy->target = engine->hosts[to];
    copy->amount = bytes;
    copy->way = &layout->ways[from * layout->node_count + to];
    double seconds = copy->way->latency;
    for (int i = 0; i < copy->way->count; i++) {
        const thrum__channel &channel = layout->channels[copy->way->channel[i]];
        seconds = std::max(seconds, copy->way->latency + bytes / channel.bandwidth);
        if (channel.line)
            engine->waiting[copy->way->channel[i]].push_back(copy);
    }
    engine->copies_until = after(engine->copies_until, seconds);
    if (may_start(engine, copy))
        engine->begun.push_back(copy);
    return 0;
}

static int begin_timer(thrum__engine *engine, double seconds, uint64_t ticket)
{
    Work *timer = begin(engine, ticket);
    timer->amount = seconds;
    after(0, seconds);
    engine->begun.push_back(timer);
    return 0;
}

static void start_begun(thrum__engine *engine)
{
    if (engine->begun.empty())
        return;
    simgrid::kernel::actor::simcall_answered([engine] {
        for (Work *work : engine->begun)
            start(engine, work);
    });
    engine->begun.clear();
}

// What has ended at this time and was not told yet began before anything that is only to be started now.
static bool next_end(thrum__engine *engine, uint64_t *ticket)
{
    if (engine->ended.empty())
        start_begun(engine);
    if (engine->under_way == 0)
        return false;
    if (engine->ended.empty()) {
        engine->asleep = true;
        engine->bell->acquire();
    }
    std::unique_ptr<Work> first(engine->ended.top());
    engine->ended.pop();
    engine->under_way--;
    *ticket = first->ticket;
    return true;
}

// ---- The platform ---------------------------------------------------------------------------------------------------

static void create_hosts(thrum__engine *engine, sg4::NetZone *zone)
{
    const thrum__layout *layout = engine->layout;
    std::vector<int> cores(layout->node_count);
    for (int i = 0; i < layout->worker_count; i++)
        cores[layout->places[i].node]++;
    for (int i = 0; i < layout->node_count; i++) {
        int shared = layout->node_kind[i] == THRUM__CORE ? std::max(1, cores[i]) : 1;
        engine->hosts.push_back(zone->create_host("node" + std::to_string(i), 1)->set_core_count(shared)->seal());
    }
}

static std::vector<sg4::Link *> create_links(const thrum__layout *layout, sg4::NetZone *zone)
{
    std::vector<sg4::Link *> links(layout->channel_count);
    for (int i = 0; i < layout->channel_count; i++)
        if (std::isfinite(layout->channels[i].bandwidth))
            links[i] = zone->create_link("channel" + std::to_string(i), layout->channels[i].bandwidth)->seal();
    return links;
}

static std::vector<sg4::LinkInRoute> links_of(const thrum__way &way, const std::vector<sg4::Link *> &links)
{
    std::vector<sg4::LinkInRoute> route;
    for (int i = 0; i < way.count; i++)
        if (links[way.channel[i]])
            route.emplace_back(links[way.channel[i]]);
    return route;
}

// None for ways that stop at a node, which nothing goes over whole, nor for those that nothing limits.
static void create_routes(const thrum__engine *engine, sg4::NetZone *zone, const std::vector<sg4::Link *> &links)
{
    int nodes = engine->layout->node_count;
    for (int i = 0; i < nodes; i++)
        for (int j = 0; j < nodes; j++) {
            const thrum__way &way = engine->layout->ways[i * nodes + j];
            const auto route = links_of(way, links);
            if (i != j && way.via < 0 && !route.empty())
                zone->add_route(engine->hosts[i]->get_netpoint(), engine->hosts[j]->get_netpoint(), nullptr, nullptr,
                                route, false);
        }
}

static thrum__engine *create_engine(const thrum__layout *layout)
{
    auto *engine = new thrum__engine;
    engine->layout = layout;
    sg4::NetZone *zone = sg4::create_full_zone("machine");
    create_hosts(engine, zone);
    create_routes(engine, zone, create_links(layout, zone));
    zone->seal();
    engine->waiting.resize(layout->channel_count);
    engine->kernels_until.resize(layout->node_count);
    engine->bell = sg4::Semaphore::create(0);
    return engine;
}

static const thrum__engine_ops ops = {"simgrid",    open_engine, close_engine, now,
                                      begin_kernel, begin_copy,  begin_timer,  next_end};

// The simulator calls policies, which may be anybody's: it has the stack of a thread.
enum { STACK_KIB = 8192 };

void thrum__tasks_simulate(const thrum__layout *layout, thrum__tasks_body *body, void *ctx)
{
    thrum__platform_open(STACK_KIB);
    const sg4::Engine *simgrid = sg4::Engine::get_instance();
    the_engine = create_engine(layout);
    simgrid->seal_platform();
    sg4::Activity::on_completion_cb([](const sg4::Activity &it) { end(the_engine, it.get_data<Work>()); });
    sg4::Actor::create("simulator", the_engine->hosts[0], [body, ctx] { body(ctx, &ops); });
    simgrid->run();
}
