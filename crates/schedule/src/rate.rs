//! How many jobs of a kind may begin in a time.

/// So many starts are remembered.
pub const PLACES: usize = 256;

/// At most `count` starts within any time of this length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rate {
    count: usize,
    microseconds: i64,
}

impl Rate {
    /// So many for each second; none if that is no number above 0. A rate above [`PLACES`] is kept within parts of a second, one that
    /// is no whole number by even distances.
    pub fn per_second(rate: f64) -> Option<Rate> {
        if !rate.is_finite() || rate <= 0.0 {
            return None;
        }
        let is_whole = rate.fract() == 0.0;
        let parts = if is_whole { (rate / PLACES as f64).ceil() } else { rate };
        let count = if is_whole { (rate / parts).floor() } else { 1.0 };
        // Rounded up, so that it is never exceeded.
        let microseconds = (1_000_000.0 / parts).ceil().min(i64::MAX as f64);
        Some(Rate { count: count as usize, microseconds: microseconds as i64 })
    }
}

/// The last starts. Zeros are none.
#[repr(C)]
#[derive(Debug)]
pub struct Starts {
    /// How many there were.
    count: u64,
    /// When the last ones were, in microseconds of a clock that never goes back, each at its number modulo [`PLACES`].
    times: [i64; PLACES],
}

impl Starts {
    /// None yet; whatever there was before began before this time.
    pub fn begin(&mut self, now: i64) {
        *self = Starts { count: 0, times: [now; PLACES] };
    }

    /// Notes a start, if the rate allows one now; otherwise when it does.
    pub fn start(&mut self, rate: Rate, now: i64) -> Result<(), i64> {
        let oldest = self.times[(self.count + PLACES as u64 - rate.count as u64) as usize % PLACES];
        let free = oldest.saturating_add(rate.microseconds);
        if now < free {
            return Err(free);
        }
        self.times[self.count as usize % PLACES] = now;
        self.count += 1;
        Ok(())
    }

    /// Takes the last start back: nothing has begun.
    pub fn take_back(&mut self, now: i64) {
        let place = (self.count + PLACES as u64 - 1) as usize % PLACES;
        if self.count > 0 && self.times[place] == now {
            self.count -= 1;
            // Long enough ago for every rate that can be met.
            self.times[place] = i64::MIN / 2;
        }
    }
}
