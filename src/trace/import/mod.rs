//! Importers: foreign bytes in, [`RecordedTrial`]s out, one record in memory at a time.
//!
//! Each format has one file with a function
//! `read(input, options, sink)`. Importers never open files (`load::recorded` does) and never guess:
//! what a source lacks is absent, and what it says wrongly is an error that names the place.
//! Hidden reasoning, keys, and everything that passes through a private tool are dropped here, in
//! `redact`, so that nothing behind this layer can store them.

mod builder;
mod cell;
mod chat;
mod columns;
mod conversation;
mod detect;
mod event_stream;
mod exchange;
mod group;
mod keys;
mod marks;
pub mod native;
pub mod openai_chat;
mod place;
mod problem;
mod redact;
mod scalar;
pub mod small;
mod status;
mod stream;
pub mod table;
pub mod tau2;
mod text;
mod wire_status;

use std::collections::BTreeSet;
use std::io::BufRead;

use crate::base::Result;
use crate::model::arm::TraceFormat;
use crate::model::suite::names_tool;
use crate::model::trial::RecordedTrial;

pub use detect::detect;
pub use keys::nearest;
pub(crate) use marks::visible;
pub use status::{status_from_error, status_from_word};
pub(crate) use text::final_payload;

/// Receives the trials one by one; its error stops the reading and is passed on.
pub type Sink<'a> = dyn FnMut(RecordedTrial) -> Result<()> + 'a;

/// What an importer needs to know beside the bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportOptions {
    /// Tools whose arguments and results are private reasoning: calls are counted, both are dropped.
    pub private_tools: BTreeSet<String>,
    /// A tool result whose text begins with one of these is an error, where the format has no flag.
    pub error_prefixes: Vec<String>,
    /// What to do with tool-call arguments that are not JSON.
    pub malformed_arguments: MalformedArguments,
    /// Name of the source in error messages: its path.
    pub source_name: String,
    /// Task of records that name none: the file's stem.
    pub default_task: String,
    /// Trial index of records that name neither task nor index, from a file name such as
    /// `TASK__2.json`.
    pub default_index: Option<u32>,
}

impl ImportOptions {
    /// Options for a source with this name, everything else at its default.
    pub fn new(source_name: impl Into<String>, default_task: impl Into<String>) -> Self {
        Self {
            private_tools: BTreeSet::new(),
            error_prefixes: default_error_prefixes(),
            malformed_arguments: MalformedArguments::Error,
            source_name: source_name.into(),
            default_task: default_task.into(),
            default_index: None,
        }
    }

    /// Whether a tool is private.
    pub(crate) fn is_private(&self, tool: &str) -> bool {
        let mut private = self.private_tools.iter();
        private.any(|known| names_tool(tool, known))
    }
}

/// What to do with tool-call arguments that are not JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MalformedArguments {
    /// The file is refused.
    #[default]
    Error,
    /// The agent wrote them: the trial is `agent_failed(malformed_arguments)`, the call is kept
    /// with absent arguments.
    Agent,
}

/// The beginnings by which real logs mark a failed tool call.
///
/// Seen in the wild: `Error: …` (tau-bench, tau2, LangGraph), `Unknown action …` (tau-bench, a tool
/// that does not exist), `Error executing tool …` (MCP servers), `An error occurred while running
/// the tool` (OpenAI Agents SDK), Python tracebacks. A bare `Error ` is not among them, since honest
/// results begin so (`Error rate: 3 %`).
pub fn default_error_prefixes() -> Vec<String> {
    [
        "Error:",
        "ERROR:",
        "Error executing tool",
        "Unknown action",
        "An error occurred while running the tool",
        "Traceback (most recent call last)",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Reads all trials of one source in the given format.
///
/// # Errors
///
/// An input error that names the source and the line or record if the bytes are not of the format;
/// whatever the sink returns.
pub fn read(
    format: TraceFormat,
    input: &mut dyn BufRead,
    options: &ImportOptions,
    sink: &mut Sink<'_>,
) -> Result<()> {
    match format {
        TraceFormat::Native => native::read(input, options, sink),
        TraceFormat::Small => small::read(input, options, sink),
        TraceFormat::OpenaiChat => openai_chat::read(input, options, sink),
        TraceFormat::Tau2 => tau2::read(input, options, sink),
    }
}
