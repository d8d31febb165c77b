//! Messages of the API as canonical protobuf JSON, both ways, by the descriptors that the server itself serves. It must not know commands.

use std::sync::OnceLock;

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage, MessageDescriptor, SerializeOptions};

use crate::grpc::pb;

/// A message of the API with its name there.
pub(crate) trait Named: Message + Default {
    /// The name without the package.
    const NAME: &'static str;
}

macro_rules! named {
    ($($name:ident),* $(,)?) => {
        $(impl Named for pb::$name {
            const NAME: &'static str = stringify!($name);
        })*
    };
}

named!(
    AnswerResponse,
    CaptureResponse,
    ContinueResponse,
    CoordinateResponse,
    CoordinationServiceCancelResponse,
    CoordinationServiceGetResponse,
    CoordinationServiceListResponse,
    CreatePinResponse,
    DecisionNeeded,
    DiffDocumentsResponse,
    DiffResponse,
    DocumentOpened,
    EraseResponse,
    ExplainResponse,
    FailAction,
    ForkResponse,
    GarbageSummary,
    GetCallToolsResponse,
    GetGraphResponse,
    GetServerInfoResponse,
    GetToolSetResponse,
    ImportSummary,
    InlineMedia,
    InspectBackendResponse,
    InspectContractResponse,
    InspectProfileResponse,
    InspectPromptResponse,
    InspectResponse,
    ListBackendsResponse,
    ListContractsResponse,
    ListDocumentsResponse,
    ListExpiriesResponse,
    ListMovesResponse,
    ListPinsResponse,
    ListProfilesResponse,
    ListPromptsResponse,
    ListToolDriftsResponse,
    ListToolOccurrencesResponse,
    ListTurnsResponse,
    Message,
    NextTurn,
    PrepareResponse,
    ProbeResponse,
    ReadDocumentResponse,
    RecordRequest,
    RecordResponse,
    ReloadResponse,
    RestoreResponse,
    RunResponse,
    RunServiceCancelResponse,
    RunServiceGetResponse,
    RunServiceListResponse,
    SearchResponse,
    SetExpiryResponse,
    StatsResponse,
    StreamWriteDocumentResponse,
    SumUsageResponse,
    ThreadServiceCreateResponse,
    ThreadServiceDeleteResponse,
    ThreadServiceGetResponse,
    ThreadServiceListResponse,
    ToolResult,
    ToolResults,
    TransferSummary,
    VerifyResponse,
    WriteDocumentsResponse,
);

/// Why text is not the message it should be, or a message cannot be written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The text is not JSON, or not this message.
    #[error("{0}")]
    Text(#[from] serde_json::Error),
    /// The descriptors built into the program do not fit its types.
    #[error("the built-in API description does not fit: {0}")]
    Description(String),
}

fn descriptor<M: Named>() -> Result<MessageDescriptor, Error> {
    static POOL: OnceLock<Result<DescriptorPool, String>> = OnceLock::new();
    let pool = POOL.get_or_init(|| DescriptorPool::decode(pb::DESCRIPTOR).map_err(|error| error.to_string()));
    let pool = pool.as_ref().map_err(|error| Error::Description(error.clone()))?;
    let name = format!("antiphon.v1.{}", M::NAME);
    pool.get_message_by_name(&name).ok_or(Error::Description(name))
}

fn dynamic<M: Named>(message: &M) -> Result<DynamicMessage, Error> {
    let bytes = message.encode_to_vec();
    DynamicMessage::decode(descriptor::<M>()?, bytes.as_slice()).map_err(|error| Error::Description(error.to_string()))
}

/// The message as JSON over several lines.
pub(crate) fn pretty<M: Named>(message: &M) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::pretty(&mut bytes);
    dynamic(message)?.serialize_with_options(&mut serializer, &SerializeOptions::new())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The message as JSON on one line.
pub(crate) fn line<M: Named>(message: &M) -> Result<String, Error> {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::new(&mut bytes);
    dynamic(message)?.serialize_with_options(&mut serializer, &SerializeOptions::new())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Reads a message strictly: unknown fields are refused.
pub(crate) fn parse<M: Named>(text: &str) -> Result<M, Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let message = DynamicMessage::deserialize(descriptor::<M>()?, &mut deserializer)?;
    deserializer.end()?;
    message.transcode_to().map_err(|error| Error::Description(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_canonical_json_both_ways() {
        let text = r#"{"role":"ROLE_USER","parts":[{"text":{"text":"hi"}}]}"#;
        let message: pb::Message = parse(text).unwrap();
        assert_eq!(message.role(), pb::Role::User);
        let back = pretty(&message).unwrap();
        assert_eq!(back.replace(['\n', ' '], ""), text);
    }

    #[test]
    fn names_are_camel_case_and_64_bit_numbers_are_text() {
        let run = pb::Run {
            run_id: "r".into(),
            usage: Some(pb::Usage { input_tokens: Some(3), ..Default::default() }),
            ..Default::default()
        };
        let text = pretty(&pb::RunServiceGetResponse { run: Some(run) }).unwrap();
        assert!(text.contains("\"runId\": \"r\"") && text.contains("\"inputTokens\": \"3\""), "{text}");
    }

    #[test]
    fn unknown_fields_and_trailing_text_are_refused() {
        let error = parse::<pb::Message>(r#"{"role":"ROLE_USER","content":"hi"}"#).unwrap_err();
        assert!(error.to_string().contains("content"), "{error}");
        assert!(parse::<pb::Message>("{} {}").is_err());
    }

    #[test]
    fn every_named_message_is_described() {
        descriptor::<pb::VerifyResponse>().unwrap();
        descriptor::<pb::CaptureResponse>().unwrap();
        descriptor::<pb::ToolResults>().unwrap();
    }
}
