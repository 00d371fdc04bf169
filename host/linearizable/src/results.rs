//! Operations, from what a call and its end say.

use crate::error::{HistoryError, Place};
use crate::model::{Action, Function, amount};
use crate::value::{NIL, Value, ValueId, Values};

/// A call and its end.
pub(crate) struct Outcome<'a> {
    pub(crate) function: Function,
    /// The argument.
    pub(crate) argument: Option<&'a Value>,
    pub(crate) called: Place,
    /// The value of the end, if it has one.
    pub(crate) value: Option<&'a Value>,
    /// The result of the end in a field of its own, which counts before the value.
    pub(crate) result: Option<&'a Value>,
    pub(crate) ended: Place,
}

impl Outcome<'_> {
    /// The operation of a call with an unknown outcome.
    pub(crate) fn unknown(&self, values: &mut Values) -> Result<Action, HistoryError> {
        match self.function {
            Function::Dequeue => Ok(Action::DequeueAny),
            function if function.only_reads() => Ok(Action::Nothing),
            _ => self.known(values),
        }
    }

    /// The operation of a call that has happened.
    pub(crate) fn known(&self, values: &mut Values) -> Result<Action, HistoryError> {
        Ok(match self.function {
            Function::Write => Action::Write(self.argument(values)?),
            Function::Append => Action::Append(self.argument(values)?),
            Function::Delete => Action::Write(NIL),
            Function::Enqueue => Action::Enqueue(self.argument(values)?),
            Function::Insert => Action::Insert(self.argument(values)?),
            Function::Remove => Action::Remove(self.argument(values)?),
            Function::Acquire => Action::Acquire,
            Function::Release => Action::Release,
            Function::Increase | Function::Decrease => {
                let amount = amount(self.function, self.argument);
                Action::Add(amount.ok_or_else(|| self.wrong_call("the amount of a counter is an integer"))?)
            }
            Function::Cas => {
                self.argument(values)?;
                let pair = self.argument.and_then(Value::elements);
                let Some([old, new]) = pair else { return Err(self.wrong_call("this cas has no [old, new]")) };
                let old = values.intern(old.clone());
                match self.result {
                    Some(Value::Bool(false)) => Action::CasRefused(old),
                    _ => Action::Cas(old, values.intern(new.clone())),
                }
            }
            _ => match self.result.or(self.value) {
                Some(returned) => self.returned(returned, values)?,
                None if self.function == Function::Dequeue => Action::DequeueAny,
                None => Action::Nothing,
            },
        })
    }

    /// The operation of a call that has returned this.
    fn returned(&self, returned: &Value, values: &mut Values) -> Result<Action, HistoryError> {
        Ok(match (self.function, returned) {
            (Function::Read, value) => Action::Read(values.intern(value.clone())),
            (Function::Dequeue, Value::Nil) => Action::QueueEmpty,
            (Function::Dequeue, value) => Action::Dequeue(values.intern(value.clone())),
            (Function::Total, Value::Integer(total)) => Action::Total(*total),
            (Function::Contains, Value::Bool(has)) => Action::Contains(self.element(values)?, *has),
            // The end repeats the argument, and says no result.
            (Function::Contains, value) if self.result.is_none() && Some(value) == self.argument => Action::Nothing,
            (Function::Elements, all) if all.elements().is_some() => {
                let all = Value::set(all.elements().unwrap_or_default().to_vec());
                Action::Elements(values.intern(all))
            }
            (function, other) => {
                let expected = match function {
                    Function::Total => "an integer",
                    Function::Contains => "true or false",
                    _ => "a list of its elements, or a set of EDN",
                };
                let problem = format!("this operation returns {expected}, not {other}");
                return Err(HistoryError::at(
                    self.ended,
                    problem,
                    "a result is in `value`, or in `result` if that has the argument",
                ));
            }
        })
    }

    /// The argument, which the end may repeat.
    fn argument(&self, values: &mut Values) -> Result<ValueId, HistoryError> {
        if let (Some(argument), Some(value), None) = (self.argument, self.value, self.result)
            && *value != Value::Nil
            && value != argument
        {
            let problem =
                format!("the call in line {} has the value {argument}, and its end {value}", self.called.line);
            return Err(HistoryError::at(
                self.ended,
                problem,
                "a result that is not the argument belongs into `result`",
            ));
        }
        self.element(values)
    }

    fn element(&self, values: &mut Values) -> Result<ValueId, HistoryError> {
        let argument = self.argument.ok_or_else(|| self.wrong_call("this call has no `value`"))?;
        Ok(values.intern(argument.clone()))
    }

    fn wrong_call(&self, problem: &str) -> HistoryError {
        HistoryError::at(self.called, problem, "the argument of a call is its `value`; that of a cas is a list of two")
    }
}
