//! Names under which a test counts the engine's actions.

use policy::Action;

/// The name of an action, or the verb of a note.
pub const fn kind(action: &Action) -> &'static str {
    match action {
        Action::Associate(_) => "Associate",
        Action::Leave(_) => "Leave",
        Action::DefaultRoute(..) => "DefaultRoute",
        Action::Endpoint(..) => "Endpoint",
        Action::Join { .. } => "Join",
        Action::SetBackup { .. } => "SetBackup",
        Action::Destroy(_) => "Destroy",
        Action::Withdraw(_) => "Withdraw",
        Action::Probe { .. } => "Probe",
        Action::Ask { .. } => "Ask",
        Action::Check(_) => "Check",
        Action::Window(_, Some(ahead)) if ahead.missed.get() > 0 => "missed",
        Action::Window(..) => "Window",
        Action::Unsent(..) => "Unsent",
        Action::CapPacing { .. } => "CapPacing",
        Action::Mark(..) => "Mark",
        Action::MarkSent(..) => "MarkSent",
        Action::Outlook(..) => "Outlook",
        Action::HandedOff(_) => "HandedOff",
        Action::Slots(..) => "Slots",
        Action::Assign(..) => "Assign",
        Action::Move(..) => "Move",
        Action::Hold(_) => "Hold",
        Action::EndFlow(_) => "EndFlow",
        Action::Note(note) => note.verb.id(),
    }
}
