import type { Delta, Fact, LogRecord, Part } from '@millrace/core';
import { stopText } from '@millrace/core/spans';

const maxLength = 160;

/** Describes the content of a record in one line. */
export function describeRecord({ delta, fact }: LogRecord): string {
  const text =
    delta === undefined ? (fact === undefined ? '' : describeFact(fact)) : describeDelta(delta);
  return text.length > maxLength ? `${text.slice(0, maxLength)}…` : text;
}

function describeDelta(delta: Delta): string {
  switch (delta.type) {
    case 'begin_part':
      return 'name' in delta && delta.name !== undefined
        ? `${delta.kind} ${delta.name}`
        : delta.kind;
    case 'append_text':
      return quoted(delta.chunk);
    case 'append_bytes':
      return `${delta.chunk.length} bytes`;
    case 'replace_structured':
      return JSON.stringify(delta.value).slice(0, maxLength);
    case 'set_metadata':
      return Object.keys(delta.metadata).join(', ');
    case 'commit_part':
      return delta.part === undefined ? `${delta.length} long` : describePart(delta.part);
    case 'retract_part':
      return delta.reason;
    case 'unknown':
      return JSON.stringify(delta.raw).slice(0, maxLength);
  }
}

function describePart(part: Part): string {
  switch (part.kind) {
    case 'text':
    case 'reasoning':
      return quoted(part.text);
    case 'tool_call':
      return `${part.name} ${part.arguments.slice(0, maxLength)}`;
    case 'tool_result':
      return `${part.name} ${quoted(part.text)}`;
    case 'structured':
    case 'custom':
      return `${part.name ?? part.kind} ${JSON.stringify(part.value).slice(0, maxLength)}`;
    case 'media':
      return part.mimeType;
    case 'file':
      return part.name;
  }
}

function describeFact(fact: Fact): string {
  switch (fact.type) {
    case 'item_started':
      return fact.author === undefined ? fact.kind : `${fact.kind} by ${fact.author.name}`;
    case 'item_finished':
      return fact.stop?.reason ?? '';
    case 'item_redacted':
    case 'aborted':
      return fact.reason ?? '';
    case 'response_started':
      return `${fact.model} of ${fact.provider}`;
    case 'response_finished':
      return `${stopText(fact.stop)}, ${fact.usage.input} in, ${fact.usage.output} out`;
    case 'usage_reported':
      return `${fact.usage.input} in, ${fact.usage.output} out`;
    case 'attempt_superseded':
      return fact.reason;
    case 'retry_scheduled':
      return `in ${fact.delayMs} ms: ${fact.error.message}`;
    case 'run_started':
      return fact.trace === undefined ? fact.runId : `${fact.runId}, ${fact.trace.traceparent}`;
    case 'run_finished':
    case 'turn_finished':
      return stopText(fact.stop);
    case 'turn_started':
      return '';
    default:
      return describeOtherFact(fact);
  }
}

function describeCommand({ key, command }: Extract<Fact, { type: 'command_queued' }>): string {
  const { type, text = '' } = command;
  if (typeof type !== 'string') return key;
  return type === 'label' && typeof text === 'string' ? `label ${quoted(text)}` : type;
}

function describeOtherFact(fact: Fact): string {
  switch (fact.type) {
    case 'error_reported':
      return `${fact.error.code}: ${fact.error.message}`;
    case 'command_queued':
      return describeCommand(fact);
    case 'command_consumed':
      return fact.key;
    case 'compacted':
      return `${fact.itemIds.length} items`;
    case 'handed_off':
      return `to ${fact.to}`;
    case 'branched':
      return `${fact.changed.join(', ')}, at record ${fact.from.at} of ${fact.from.session}`;
    case 'tool_call_rejected':
      return `${fact.name}: ${fact.code}, ${fact.message}`;
    case 'approval_asked':
      return fact.from === undefined
        ? fact.name
        : `${fact.name} of ${fact.from.agents.join(' › ')}`;
    case 'child_usage_reported':
      return `${fact.of.agent}: ${fact.usage.input} in, ${fact.usage.output} out`;
    case 'approval_answered':
      return `${fact.name}: ${fact.decision}`;
    case 'tool_execution_started':
      return `${fact.name}: ${fact.summary}`;
    case 'tool_execution_finished':
      return `${fact.name}: ${fact.isError ? 'error' : fact.outcome}`;
    case 'snapshot':
      return `stands for ${fact.covers[0]} to ${fact.covers[1]}`;
    case 'unknown':
      return JSON.stringify(fact.raw).slice(0, maxLength);
    default:
      return '';
  }
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, maxLength));
}
