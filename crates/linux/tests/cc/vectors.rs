//! Inputs for the arithmetic, and the expected results.

use policy::cc::{Controller, Flow, Interval, MeanWindow};

const GOLDEN: &str = include_str!("../../../../golden/cc.csv");

/// The controllers by their names in the vectors and the C programs.
pub const NAMES: [(&str, Controller); 5] = [
    ("reno", Controller::Reno),
    ("lia", Controller::Lia),
    ("cla-printed", Controller::ClaPrinted),
    ("olia", Controller::Olia),
    ("balia", Controller::Balia),
];

/// An input and its expected result.
pub struct Vector {
    pub controller: &'static str,
    pub own: usize,
    pub flows: Vec<Flow>,
    pub growth: i64,
    pub left: u32,
}

/// A program's result.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    pub growth: i64,
    pub left: u32,
}

impl Vector {
    pub fn answer(&self) -> Answer {
        Answer {
            growth: self.growth,
            left: self.left,
        }
    }

    pub fn describe(&self) -> String {
        format!("{} of path {} in {:?}", self.controller, self.own, self.flows)
    }
}

/// The lines of `golden/cc.csv`.
pub fn golden() -> Vec<Vector> {
    let lines = GOLDEN
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(parse).collect()
}

fn parse(line: &str) -> Vector {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let named = NAMES.iter().find(|(name, _)| *name == fields[0]);
    Vector {
        controller: named.expect("a known controller").0,
        own: fields[1].parse().expect("an index"),
        flows: fields[2].split_whitespace().map(parse_flow).collect(),
        growth: fields[3].parse().expect("a growth"),
        left: fields[4].parse().expect("a window"),
    }
}

fn parse_flow(text: &str) -> Flow {
    let numbers: Vec<u64> = text
        .split(':')
        .map(|number| number.parse().expect("a number"))
        .collect();
    flow(numbers.try_into().expect("five numbers"))
}

fn flow([cwnd, srtt_us, mean, since_loss, between_losses]: [u64; 5]) -> Flow {
    Flow {
        cwnd: u32::try_from(cwnd).expect("a window has 32 bits"),
        srtt_us: u32::try_from(srtt_us).expect("a time has 32 bits"),
        mean: MeanWindow::of(mean),
        interval: Interval {
            since_loss,
            between_losses,
        },
    }
}

/// `count` random inputs for each controller with numbers of every size, and the results of `policy::cc`.
pub fn drawn(count: usize) -> Vec<Vector> {
    let mut draw = Draw(0x5eed);
    (0..count * NAMES.len())
        .map(|n| drawn_vector(&mut draw, NAMES[n % NAMES.len()]))
        .collect()
}

fn drawn_vector(draw: &mut Draw, (name, controller): (&'static str, Controller)) -> Vector {
    let paths = 1 + draw.below(8) as usize;
    let sizes = [32, 32, 48, 64, 64];
    let flows: Vec<Flow> = (0..paths)
        .map(|_| flow(sizes.map(|bits| draw.of_any_size(bits))))
        .collect();
    let own = draw.below(paths as u64) as usize;
    Vector {
        controller: name,
        own,
        growth: controller.increase(own, &flows).0,
        left: controller.after_loss(own, &flows),
        flows,
    }
}

/// A SplitMix64 generator.
pub struct Draw(pub u64);

impl Draw {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A number of at most `bits` bits, with a uniform length. 0 now and then.
    pub fn of_any_size(&mut self, bits: u64) -> u64 {
        let length = self.below(bits + 1);
        self.next().checked_shr(64 - length as u32).unwrap_or(0)
    }
}
