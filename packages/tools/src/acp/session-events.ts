import type { FormAnswer } from '@millrace/agent';
import type { RemoteEvent } from '@millrace/agent/remote';
import {
  type FormQuestion,
  formLimits,
  fromBase64,
  isId,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from '@millrace/core';

/** A call as the agent has described it so far. */
interface CallState {
  readonly id: string;
  /** The fields that `callFields` lists. */
  readonly fields: { [name: string]: JsonValue };
  /** The output so far. Updates without an output do not build it again. */
  output: string;
  /** The output that the session has. */
  sent: string;
}

const outputFields: readonly string[] = ['content', 'rawOutput'];
/** The fields of an update that are kept. An agent can send others. */
const callFields: readonly string[] = [
  ...['status', 'kind', 'name', 'title', 'rawInput', 'locations', ...outputFields],
];

/** Maximum number of calls of one turn. */
const maxCalls = 10_000;
const maxNameLength = 64;

/** Converts the updates of one turn of an ACP agent to events. */
export class SessionEvents {
  readonly #calls = new Map<string, CallState>();
  /** The calls that the session does not have yet. */
  readonly #unsent = new Set<CallState>();
  #plans = 0;

  /** Returns the events of an update. Updates about settings of the editor have none. */
  update(update: JsonObject): readonly RemoteEvent[] {
    switch (update['sessionUpdate']) {
      case 'agent_message_chunk':
        return [...this.sendCalls(), ...chunk('text', update)];
      case 'agent_thought_chunk':
        return [...this.sendCalls(), ...chunk('reasoning', update)];
      case 'tool_call':
      case 'tool_call_update':
        return this.call(update);
      case 'plan': {
        const text = planText(update['entries']);
        return text === '' ? [] : [{ type: 'reasoning', text, message: `plan-${++this.#plans}` }];
      }
      default:
        return [];
    }
  }

  /** Adds what an update or a permission request says about a call. */
  call(update: JsonObject, isNeeded = false): readonly RemoteEvent[] {
    const id = textIn(update, 'toolCallId');
    if (id === undefined || !isId(id)) return [];
    const known = this.#calls.get(id) ?? { id, fields: {}, output: '', sent: '' };
    if (!this.#calls.has(id)) {
      if (this.#calls.size >= maxCalls) return [];
      this.#calls.set(id, known);
      this.#unsent.add(known);
    }
    const given = callFields.filter((name) => (update[name] ?? null) !== null);
    for (const name of given) known.fields[name] = update[name] ?? null;
    if (given.some((name) => outputFields.includes(name))) known.output = outputOf(known.fields);
    const { output, sent } = known;
    const { status } = known.fields;
    const isOver = status === 'completed' || status === 'failed';
    const isReady = hasInput(known.fields) || status === 'in_progress';
    const events: RemoteEvent[] = [];
    if (isReady || isOver || isNeeded) events.push(...this.#send(known));
    if (isOver) {
      this.#calls.delete(id);
      events.push({ type: 'result', id, text: output, isError: status === 'failed' });
    } else if (!this.#unsent.has(known) && output.length > sent.length && output.startsWith(sent)) {
      events.push({ type: 'progress', id, text: output.slice(sent.length) });
      known.sent = output;
    }
    return events;
  }

  /** Returns everything that the agent has said about a call that is not over. */
  described(id: string | undefined): JsonObject | undefined {
    return id === undefined ? undefined : this.#calls.get(id)?.fields;
  }

  /** Returns the calls that the session does not have yet. */
  sendCalls(): readonly RemoteEvent[] {
    return [...this.#unsent].flatMap((call) => this.#send(call));
  }

  #send(call: CallState): readonly RemoteEvent[] {
    return this.#unsent.delete(call) ? [callEvent(call)] : [];
  }
}

/** Returns whether a call has an input. Some agents send an empty object before the model has written it. */
function hasInput({ rawInput }: Readonly<Record<string, JsonValue | undefined>>): boolean {
  return isJsonObject(rawInput) ? Object.keys(rawInput).length > 0 : rawInput !== undefined;
}

function callEvent({ fields, id }: CallState): RemoteEvent {
  const { rawInput: input, kind } = fields;
  const given = textIn(fields, 'name') ?? (typeof kind === 'string' ? kind : 'other');
  const name = given.replaceAll(/[^\w.-]+/g, '_').slice(0, maxNameLength) || 'other';
  const title = textIn(fields, 'title') ?? name;
  const locations = Array.isArray(fields['locations']) ? fields['locations'] : [];
  const paths = locations.flatMap((location) => textIn(location, 'path') ?? []);
  return {
    ...{ type: 'call', id, name },
    input: { title, ...(input !== undefined && { input }), ...(paths.length > 0 && { paths }) },
  };
}

function chunk(type: 'text' | 'reasoning', update: JsonObject): readonly RemoteEvent[] {
  const { content } = update;
  const message = textIn(update, 'messageId');
  const text = blockText(content);
  if (text !== undefined) return [{ type, text, message }];
  if (!isJsonObject(content) || (content['type'] !== 'image' && content['type'] !== 'audio'))
    return [];
  const bytes = fromBase64(textIn(content, 'data') ?? '');
  const mimeType = textIn(content, 'mimeType') ?? '';
  if (bytes === undefined || !/^(?:image|audio)\/[\w.+-]+$/.test(mimeType)) return [];
  return [{ type: 'file', part: { kind: 'media', mimeType, source: { type: 'bytes', bytes } } }];
}

/** Returns the text of a content block. Undefined if it has none. */
function blockText(block: JsonValue | undefined): string | undefined {
  if (!isJsonObject(block)) return undefined;
  if (block['type'] === 'text') return textIn(block, 'text');
  if (block['type'] === 'resource_link') return textIn(block, 'uri');
  return block['type'] === 'resource' ? textIn(block['resource'], 'text') : undefined;
}

function outputOf({ content, rawOutput }: JsonObject): string {
  const blocks = Array.isArray(content) ? content.filter(isJsonObject) : [];
  const texts = blocks.flatMap((one): readonly string[] => {
    if (one['type'] === 'diff')
      return [`${textIn(one, 'path') ?? ''}:\n${textIn(one, 'newText') ?? ''}`];
    const text = blockText(one['content']);
    return text === undefined ? [] : [text];
  });
  if (texts.length > 0 || rawOutput === undefined) return texts.join('\n');
  return typeof rawOutput === 'string' ? rawOutput : JSON.stringify(rawOutput);
}

function planText(entries: JsonValue | undefined): string {
  const list = Array.isArray(entries) ? entries.filter(isJsonObject) : [];
  const marks: Readonly<Record<string, string>> = { completed: 'x', in_progress: '~' };
  const lines = list.map(
    (entry) => `- [${marks[textIn(entry, 'status') ?? ''] ?? ' '}] ${textIn(entry, 'content')}`,
  );
  return lines.length === 0 ? '' : `Plan:\n${lines.join('\n')}\n`;
}

/** A permission request as a form, and the answer of the form as an outcome. */
export interface PermissionForm {
  readonly form: FormQuestion;
  outcome(answer: FormAnswer): JsonObject;
}

/**
 * Converts a permission request about a call. The message contains what the agent last said about the call,
 * because the session may have an earlier input. `remoteAgent` shortens it. Throws if the request has no options.
 */
export function permissionForm({ toolCall, options }: JsonObject): PermissionForm {
  const offered = (Array.isArray(options) ? options : []).flatMap((option) => {
    const [id, kind] = [textIn(option, 'optionId'), textIn(option, 'kind')];
    const name = textIn(option, 'name') ?? id ?? '';
    return id === undefined ? [] : [{ id, kind, name: shortName(name) }];
  });
  const limited = offered.slice(0, formLimits.options);
  if (limited.length === 0) throw new Error('The permission request has no options');
  const about = isJsonObject(toolCall) ? toolCall : {};
  const title = textIn(about, 'title') ?? 'this call';
  const { rawInput } = about;
  const input = rawInput === undefined ? '' : JSON.stringify(rawInput);
  // Some agents send the change of a file only with the question.
  const content = outputOf({ content: about['content'] ?? null });
  const isKnown = hasInput(about) || content !== '';
  const details = [title, input, content, isKnown ? '' : unknownInput];
  const message = `The agent asks for permission: ${details.filter((text) => text !== '').join('\n')}`;
  const choices = limited.map(({ id, name }) => ({ const: id, title: name }));
  const selected = (optionId: string) => ({ outcome: { outcome: 'selected', optionId } });
  const cancelled = { outcome: { outcome: 'cancelled' } };
  return {
    form: {
      message,
      schema: {
        type: 'object',
        properties: { answer: { type: 'string', title: 'Answer', oneOf: choices } },
        required: ['answer'],
      },
    },
    outcome: (answer) => {
      if (answer.action === 'accept') {
        const chosen = limited.find(({ id }) => id === answer.content['answer']);
        return chosen === undefined ? cancelled : selected(chosen.id);
      }
      const refusal = limited.find(({ kind }) => kind === 'reject_once');
      return answer.action === 'decline' && refusal !== undefined
        ? selected(refusal.id)
        : cancelled;
    },
  };
}

const unknownInput = 'The agent has not sent the input of this call.';

/** Cuts the name of an option before a word, because keys are removed later. A part of a key could remain. */
function shortName(name: string): string {
  if (name.length <= formLimits.titleLength) return name;
  return `${name.slice(0, formLimits.titleLength - 1).replace(/\S*$/, '')}…`;
}

/** Returns a field of an object, if it is a text. */
export function textIn(value: JsonValue | undefined, name: string): string | undefined {
  const field = isJsonObject(value) ? value[name] : undefined;
  return typeof field === 'string' ? field : undefined;
}
