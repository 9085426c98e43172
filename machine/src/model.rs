// SPDX-License-Identifier: MIT OR Apache-2.0
//! The machine as the rest of the code sees it: resolved, validated, units in names.

use crate::ships::Ships;

/// Most CPUs that a machine may have; the policy's CPU sets are bitmaps of this size.
pub const MAX_CPUS: usize = 512;

#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    pub name: String,
    pub description: String,
    /// `model name` of `/proc/cpuinfo` on such a machine; `None`: not known.
    pub processor: Option<String>,
    /// The machine whose watts were taken, as these are not known; `None`: they are its own.
    pub watts_of: Option<String>,
    /// Kinds of cores, fastest first.
    pub kinds: Vec<Kind>,
    /// Logical CPUs by number; SMT siblings share `core`.
    pub cpus: Vec<Cpu>,
    /// How many of each there are; the numbers in `Cpu` are below them.
    pub nr_cores: usize,
    pub nr_clock_domains: usize,
    pub nr_voltage_domains: usize,
    pub nr_memory_domains: usize,
    pub nr_sockets: usize,
    pub nr_nodes: usize,
    /// Last-level cache of each memory domain; `None` if not known. The model of contention does not use the size.
    pub cache_kib: Vec<Option<u64>>,
    /// Power that does not depend on the cores (board, disks, supply losses).
    pub base_uw: u64,
    /// All of them hold. Empty: none.
    pub power_limits: Vec<PowerLimit>,
    pub dram: Dram,
    /// What the cores of a memory domain share behind their last-level cache; `None`: no contention is modelled.
    pub memory: Option<Memory>,
    /// What the operating system of such a machine ships: the policy `linux`.
    pub ships: Ships,
    pub cpufreq: Cpufreq,
    pub cost: Cost,
    /// The shortest exit from an idle or parked state, as a share of its longest. 1: each takes as long.
    pub shortest_exit_share: f64,
    /// Deep state that a core of the low set may be put in; `None`: low cores only run at their lowest OPP.
    pub park: Option<Park>,
    pub thermal: Option<Thermal>,
    /// What was fitted, to what, with which residual; the sources of parameters. Free text for `lop machine show`.
    pub notes: Vec<String>,
}

/// One logical CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cpu {
    pub kind: u16,
    /// Physical core; CPUs with the same number are SMT siblings.
    pub core: u16,
    pub clock_domain: u16,
    pub voltage_domain: u16,
    pub memory_domain: u16,
    pub socket: u16,
    pub node: u16,
}

/// Speed of a kind of core, and the frequency at which it has that speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rated {
    pub speed: f64,
    pub khz: u64,
}

/// A kind of core.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    pub name: String,
    /// Work done per second at `rated_khz`, in seconds of the reference core (phenom-9750 at 2.4 GHz).
    pub speed: f64,
    /// The highest OPP of the hardware. Work is measured there, even if `max_mhz` keeps cores below it.
    pub rated_khz: u64,
    /// Of the machine's fastest kind. The memory share of work is measured there: waiting takes as long on every kind.
    pub fastest: Rated,
    /// Throughput of a physical core with all siblings busy, relative to one busy sibling (1.0 without SMT).
    pub smt_speedup: f64,
    /// Power that each further busy sibling adds, as a share of what the first one adds.
    pub smt_power: f64,
    /// The OPPs that may be used, lowest frequency first.
    pub opps: Vec<Opp>,
    /// Fewest busy cores first; the last is for all cores of a socket. Empty: the highest OPP with any number.
    pub turbo: Vec<Turbo>,
    /// Number of the kind in the file: those that `max_mhz` made of one share it, and count together for `turbo`.
    pub hardware: u16,
    /// Shallowest first; the first is entered at once.
    pub idle_states: Vec<IdleState>,
}

/// An operating point. Watts hold at the OPP's own voltage; while the voltage domain is held higher by another core they
/// scale with (V_domain / V_opp)^2.
#[derive(Debug, Clone, PartialEq)]
pub struct Opp {
    pub khz: u64,
    pub mv: u32,
    /// One physical core in the first idle state.
    pub idle_uw: u64,
    /// One physical core with one busy CPU (total, not above idle).
    pub busy_uw: u64,
    /// Power of the voltage domain itself (shared leakage, cache, ring) while this OPP's voltage is the highest in it.
    pub domain_uw: u64,
}

/// The highest OPP of all cores of a kind in a socket while up to so many of them are busy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turbo {
    pub busy_cores: usize,
    pub opp: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub struct IdleState {
    pub name: String,
    /// The longest exit.
    pub exit_ns: u64,
    /// A core that has been idle for this long is in this state.
    pub residency_ns: u64,
    /// Power of a physical core in this state; `None`: the OPP's `idle_uw` (clock on).
    pub power_uw: Option<u64>,
    /// A core in this state needs the voltage of its OPP. One whose power is gated, or whose clock goes down as it sleeps, does not.
    pub holds_voltage: bool,
}

/// A limit of the mean power of all cores and voltage domains together; what is longer ago than the window counts less and less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PowerLimit {
    pub uw: u64,
    pub window_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Dram {
    pub idle_uw: u64,
    /// Added for each core while it waits for memory (the share m of its run time).
    pub stall_uw: u64,
}

/// The same for each memory domain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// Latency of a miss in the last-level cache while no other miss is pending.
    pub latency_ns: f64,
    /// Bandwidth of each domain, in 10^6 bytes per second; `None`: no limit.
    pub bandwidth_mb_s: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cpufreq {
    /// Duration of a change of frequency, during which the core runs at the old one.
    pub transition_ns: u64,
    /// Sampling period of `ondemand`.
    pub ondemand_period_ns: u64,
    /// Shortest time between two frequency updates of `schedutil`.
    pub schedutil_rate_limit_ns: u64,
    /// Shortest and longest window over which `hwp` measures a core.
    pub hwp_window_ns: (u64, u64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    pub context_switch_ns: u64,
    /// Added when a task resumes on another core than its last.
    pub migration_ns: u64,
    /// Added to that when the other core is in another memory domain.
    pub memory_domain_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Park {
    /// The longest exit.
    pub exit_ns: u64,
    pub power_uw: u64,
    /// Power of a voltage domain while all its cores are parked; `None`: that of its operating point.
    pub domain_uw: Option<u64>,
    /// Time until the first core of such a domain runs; more than `exit_ns` if the whole domain was switched off.
    pub domain_exit_ns: u64,
}

/// First-order thermal model of a physical core: dT/dt = (ambient + c_per_w * P - T) / time_constant.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thermal {
    pub ambient_c: f64,
    pub c_per_w: f64,
    pub time_constant_s: f64,
    /// Above it a core is hot: it joins the high set only if no cooler one exists.
    pub limit_c: f64,
}

impl Machine {
    /// The machine whose watts were taken, if it has another processor: joules then say little, ratios between policies more.
    pub fn foreign_watts(&self) -> Option<&str> {
        let donor = self.watts_of.as_deref()?;
        let of_donor = crate::builtin_text(donor).and_then(|text| crate::read(donor, text).ok()?.processor);
        (of_donor.is_none() || of_donor != self.processor).then_some(donor)
    }

    /// The name, and the machine whose watts were taken: "this (watts of phenom-9750, another processor)".
    pub fn title(&self) -> String {
        match (&self.watts_of, self.foreign_watts()) {
            (None, _) => self.name.clone(),
            (Some(donor), None) => format!("{} (watts of {donor}, the same processor)", self.name),
            (Some(donor), Some(_)) => format!("{} (watts of {donor}, another processor)", self.name),
        }
    }

    /// Highest work rate of any one physical core, in reference seconds per second, for work that scales with frequency (SMT
    /// gain left out).
    pub fn top_speed(&self) -> f64 {
        self.kinds.iter().map(Kind::top_rate).fold(0.0, f64::max)
    }
}

/// Tells each kind which of them is the fastest.
pub(crate) fn tell_fastest(kinds: &mut [Kind]) {
    let rated = |kind: &Kind| Rated {
        speed: kind.speed,
        khz: kind.rated_khz,
    };
    let fastest = kinds.iter().max_by(|a, b| a.speed.total_cmp(&b.speed)).map(rated);
    for kind in kinds {
        kind.fastest = fastest.unwrap_or(kind.fastest);
    }
}

impl Kind {
    /// Work per second at `opp` for work that waits for memory `memory_share` of its time on the fastest kind at its rated frequency. Neither the
    /// frequency nor the kind shortens the waiting:
    /// rate(f) = s_0 / ((1 - m) * s_0 / s * f_max / f + m)   (spec section 1, T(f) = W ((1 - m) f_max / f + m), where kinds are alike)
    pub fn rate(&self, opp: usize, memory_share: f64) -> f64 {
        let (rated, fastest) = (self.rated_khz as f64, self.fastest.speed);
        let computing = (1.0 - memory_share) * (fastest / self.speed);
        fastest / (computing * rated / self.opps[opp].khz as f64 + memory_share)
    }
    /// The frequency at which the fastest kind would compute as fast as this one does at `opp`, in kHz.
    pub fn equal_khz(&self, opp: usize) -> f64 {
        let per_khz = (self.speed / self.fastest.speed) * (self.fastest.khz as f64 / self.rated_khz as f64);
        self.opps[opp].khz as f64 * per_khz
    }
    /// The highest OPP that cores may have while so many of the kind in their socket are busy.
    pub fn top_opp(&self, busy_cores: usize) -> usize {
        let allowed = self.turbo.iter().find(|turbo| busy_cores <= turbo.busy_cores);
        allowed
            .or(self.turbo.last())
            .map_or(self.opps.len() - 1, |turbo| turbo.opp)
    }
    /// Work per second at the highest OPP that may be used, for work that scales with frequency.
    pub fn top_rate(&self) -> f64 {
        self.rate(self.opps.len() - 1, 0.0)
    }
}
