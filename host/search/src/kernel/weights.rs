//! The odds with which a random walk takes events of each kind.

use std::str::FromStr;

use host_model::contract::LocalKind;

/// The weights of the kinds of events. An event is drawn with a probability in proportion to the weight of its kind; a
/// weight of 0 excludes a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Deliveries of messages.
    pub deliver: u32,
    /// Timers.
    pub timer: u32,
    /// Calls of the application.
    pub application: u32,
    /// Steps that the protocol takes by itself.
    pub internal: u32,
    /// Faults, as far as the scenario allows them.
    pub fault: u32,
}

impl Default for Weights {
    /// All events are equally likely.
    fn default() -> Self {
        Self { deliver: 1, timer: 1, application: 1, internal: 1, fault: 1 }
    }
}

impl Weights {
    /// The weight of local events of a kind.
    pub fn of_local(&self, kind: LocalKind) -> u32 {
        match kind {
            LocalKind::Timer => self.timer,
            LocalKind::Application => self.application,
            LocalKind::Internal => self.internal,
        }
    }
}

impl FromStr for Weights {
    type Err = WeightsError;

    /// Reads a list such as `deliver=4,timer=1`; a kind that is left out has the weight 1.
    fn from_str(text: &str) -> Result<Self, WeightsError> {
        let mut weights = Self::default();
        for part in text.split(',') {
            let (kind, weight) = part.split_once('=').ok_or_else(|| WeightsError::Malformed(part.to_owned()))?;
            let entry = match kind {
                "deliver" => &mut weights.deliver,
                "timer" => &mut weights.timer,
                "application" => &mut weights.application,
                "internal" => &mut weights.internal,
                "fault" => &mut weights.fault,
                _ => return Err(WeightsError::Kind(kind.to_owned())),
            };
            *entry = weight.parse().map_err(|_| WeightsError::Malformed(part.to_owned()))?;
        }
        let Self { deliver, timer, application, internal, fault } = weights;
        if [deliver, timer, application, internal, fault] == [0; 5] {
            return Err(WeightsError::AllZero);
        }
        Ok(weights)
    }
}

impl std::fmt::Display for Weights {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { deliver, timer, application, internal, fault } = self;
        write!(f, "deliver={deliver},timer={timer},application={application},internal={internal},fault={fault}")
    }
}

/// The reason why a text is no list of weights.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WeightsError {
    /// A part is not a kind and a number.
    #[error("expected KIND=N,..., such as deliver=4,timer=1, and not `{0}`")]
    Malformed(String),
    /// There is no such kind of event.
    #[error("there is no kind of event `{0}`; there are deliver, timer, application, internal, fault")]
    Kind(String),
    /// Nothing could happen.
    #[error("all weights are 0, so nothing could happen; leave one out")]
    AllZero,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_has_weight_one() {
        let expected = Weights { deliver: 4, timer: 0, ..Weights::default() };
        assert_eq!("timer=0,deliver=4".parse(), Ok(expected));
        assert_eq!(expected.to_string().parse(), Ok(expected));
    }

    #[test]
    fn other_lists_are_refused_with_the_reason() {
        let error = |text: &str| text.parse::<Weights>().expect_err(text);
        assert_eq!(error("deliver"), WeightsError::Malformed("deliver".to_owned()));
        assert_eq!(error("deliver=-1"), WeightsError::Malformed("deliver=-1".to_owned()));
        assert_eq!(error("reset=1"), WeightsError::Kind("reset".to_owned()));
        assert_eq!(error("deliver=0,timer=0,application=0,internal=0,fault=0"), WeightsError::AllZero);
    }
}
