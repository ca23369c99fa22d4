// SPDX-License-Identifier: MIT
//
// SimGrid itself, and the platform of a loop: a host for the master and one for each worker, around a switch whose one
// link takes no time and all traffic.
#include "sim/simgrid/platform.h"

#include <simgrid/kernel/ProfileBuilder.hpp>
#include <simgrid/s4u.hpp>
#include <xbt/log.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <set>
#include <string>

namespace sg4 = simgrid::s4u;

void thrum__platform_open(int stack_kib)
{
    new sg4::Engine("thrum"); // sg4::Engine::get_instance() finds it
    xbt_log_control_set("root.thresh:critical");
    // Threads would be 36 times slower.
    sg4::Engine::set_config("contexts/factory:raw");
    sg4::Engine::set_config("contexts/stack-size", stack_kib);
    // The default model of the network adds overheads of TCP.
    sg4::Engine::set_config("network/model:CM02");
    sg4::Engine::set_config("network/crosstraffic", false);
    // By default a link that is used to 99.999 % counts as full.
    sg4::Engine::set_config("maxmin/precision", 1e-13);
    sg4::Engine::set_config("debug/clean-atexit", false);
}

// The share of its speed that the worker has at a time.
static double share_at(const thrum__simgrid_job &job, uint32_t worker, double time)
{
    double share = 1;
    for (size_t i = 0; i < job.perturbation_count; i++) {
        const thrum_perturbation &it = job.perturbations[i];
        if (it.worker == worker && it.from <= time && time < it.until)
            share *= it.factor;
    }
    return std::max(share, THRUM__NO_SPEED); // SimGrid gives up at an execution that would never end
}

// "date share" a line, for each date at which the worker's share changes.
static std::string profile_of(const thrum__simgrid_job &job, uint32_t worker)
{
    std::set<double> dates;
    for (size_t i = 0; i < job.perturbation_count; i++)
        if (job.perturbations[i].worker == worker) {
            dates.insert(job.perturbations[i].from);
            if (std::isfinite(job.perturbations[i].until))
                dates.insert(job.perturbations[i].until);
        }
    std::string profile;
    for (double date : dates) {
        char line[80];
        std::snprintf(line, sizeof line, "%.17g %.17g\n", date, share_at(job, worker, date));
        profile += line;
    }
    return profile;
}

static sg4::Host *create_worker(sg4::NetZone *zone, const thrum__simgrid_job &job, uint32_t worker)
{
    const std::string name = "worker" + std::to_string(worker);
    sg4::Host *host = zone->create_host(name, job.speeds ? job.speeds[worker] : 1);
    const std::string profile = profile_of(job, worker);
    if (!profile.empty())
        host->set_speed_profile(simgrid::kernel::profile::ProfileBuilder::from_string(name, profile, -1));
    return host;
}

// Masters and workers need little, and there may be thousands.
enum { STACK_KIB = 128 };

void thrum__platform_build(const thrum__simgrid_job *job, sg_host_t *hosts, void (*changed)(const_sg_host_t host))
{
    thrum__platform_open(STACK_KIB);
    sg4::NetZone *zone = sg4::create_star_zone("machine");
    const sg4::Link *link = zone->create_link("switch", 1e18)
                                ->set_latency(0)
                                ->set_sharing_policy(sg4::Link::SharingPolicy::FATPIPE)
                                ->seal();
    for (uint32_t i = 0; i < job->workers; i++)
        hosts[i] = create_worker(zone, *job, i);
    hosts[job->workers] = zone->create_host("master", 1);
    for (uint32_t i = 0; i <= job->workers; i++) {
        hosts[i]->seal();
        zone->add_route(hosts[i]->get_netpoint(), nullptr, nullptr, nullptr, {sg4::LinkInRoute(link)}, true);
    }
    zone->seal();
    sg4::Engine::get_instance()->seal_platform();
    sg4::Host::on_speed_change_cb([changed](const sg4::Host &host) { changed(&host); });
}

// The clock goes from `now` to the date of the next event by adding date - now, and may miss it by a unit in the last
// place. Events count as reached that are less than "surf/precision" away; one that lies further back is lost, and with
// it all that would have come of it. The default, 1e-9, takes different times for equal, and is too little for dates
// above 10^7.
void thrum__platform_reach(double date)
{
    static double reached;
    if (date <= reached)
        return;
    reached = 2 * date;
    sg4::Engine::set_config("surf/precision", 2 * DBL_EPSILON * reached);
}
