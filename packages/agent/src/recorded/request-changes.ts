import type { Attempt, JsonValue } from '@millrace/core';
import { type JsonChange, jsonChanges } from './json-changes.ts';
import type { RecordingRun } from './run-recording.ts';
import type { AcceptedDivergence, SentRequest, SessionRecording } from './session-recording.ts';

/**
 * The part of an agent that changed.
 *
 * - `instructions`: the system prompt.
 * - `tool`: the list of tools, or the description or schema of a tool. `subject` is its name.
 * - `output`: the schema of the answer.
 * - `option`: an option of the request, such as the temperature. `subject` is its name.
 * - `context`: the items of the conversation, by filters, compactions or guardrails.
 * - `cache`: which items the provider caches.
 * - `model`: the provider or the model.
 * - `adapter`: the same request is sent in another form.
 * - `loop`: the loop writes another record, or sends another number of requests.
 */
export type ChangeCause =
  | 'instructions'
  | 'tool'
  | 'output'
  | 'option'
  | 'context'
  | 'cache'
  | 'model'
  | 'adapter'
  | 'loop';

/** One difference between a recording and the agent of today. */
export interface RecordingChange extends Attempt {
  readonly cause: ChangeCause;
  /** The name of the tool or the option. Undefined for other causes. */
  readonly subject?: string | undefined;
  /** The place in the request. Empty if the whole request differs, and for changes of the loop. */
  readonly path: readonly string[];
  readonly before?: JsonValue | undefined;
  readonly after?: JsonValue | undefined;
  /** A sentence that describes the change. It contains no content of the session. */
  readonly message: string;
}

/**
 * Returns all differences between a recording and what an agent does with it. The order is the order of turns.
 */
export function recordingChanges(
  { requests, accepted }: Pick<SessionRecording, 'requests' | 'accepted'>,
  run: RecordingRun,
): readonly RecordingChange[] {
  const changes = requests === undefined ? [] : sentChanges(requests, run);
  const { divergence } = run;
  if (isSameDivergence(divergence, accepted)) return changes;
  const { expected, message = acceptedIsGone } = divergence ?? {};
  const at = { turn: expected?.turn ?? 0, attempt: expected?.attempt ?? 0 };
  return [...changes, { ...at, cause: 'loop', path: [], message }];
}

const acceptedIsGone =
  'The loop does the same as the recording again, but a difference was accepted';

function isSameDivergence(
  one: AcceptedDivergence | undefined,
  other: AcceptedDivergence | undefined,
): boolean {
  return one?.offset === other?.offset && one?.message === other?.message;
}

function sentChanges(
  before: readonly SentRequest[],
  { requests: after, divergence }: RecordingRun,
): readonly RecordingChange[] {
  const changes: RecordingChange[] = [];
  const today = new Map(after.map((request) => [keyOf(request), request]));
  const known = new Set(before.map(keyOf));
  for (const sent of before) {
    const now = today.get(keyOf(sent));
    if (now !== undefined) changes.push(...requestChanges(sent, now));
    // After a divergence, the agent reaches no later request. The divergence itself is reported.
    else if (divergence === undefined)
      changes.push(loopChange(sent, 'The agent no longer sends this request'));
  }
  for (const now of after)
    if (!known.has(keyOf(now))) changes.push(loopChange(now, 'The agent sends a new request'));
  return changes;
}

/** A turn can have a summary and an answer, which have the same attempt. */
function keyOf({ turn, attempt, purpose }: SentRequest): string {
  return `${turn}.${attempt}.${purpose}`;
}

function loopChange({ turn, attempt }: SentRequest, message: string): RecordingChange {
  return { turn, attempt, cause: 'loop', path: [], message };
}

/** Returns the differences of two requests. */
function requestChanges(before: SentRequest, after: SentRequest): readonly RecordingChange[] {
  const { turn, attempt } = before;
  const at = { turn, attempt };
  const [old, now] = [modelOf(before), modelOf(after)];
  const found = jsonChanges(before.request, after.request).map((change) => ({
    ...at,
    ...describe(change),
  }));
  const changes: readonly RecordingChange[] =
    old === now
      ? found
      : [
          { ...at, cause: 'model', path: [], before: old, after: now, message: 'Another model' },
          ...found,
        ];
  // If the request itself differs, the form on the wire differs too. The cause is then not the adapter.
  if (changes.length > 0) return changes;
  const wire = (sent: SentRequest) => (sent.wire ?? null) as unknown as JsonValue;
  return jsonChanges(wire(before), wire(after)).map((change) => ({
    ...{ ...at, cause: 'adapter', ...change },
    message: `The adapter sends another ${change.path.map(wildcard).join('.') || 'request'}`,
  }));
}

function modelOf({ provider, model }: SentRequest): string {
  return `${provider}/${model}`;
}

/** The id of the item with the instructions, see `buildRequest`. */
const instructionsId = 'instructions';

function describe(change: JsonChange): Omit<RecordingChange, keyof Attempt> {
  const [field = '', name = '', ...rest] = change.path;
  const { before, after } = change;
  const is = before === undefined ? 'is new' : after === undefined ? 'is gone' : 'differs';
  switch (field) {
    case 'items': {
      if (name === instructionsId)
        return { ...change, cause: 'instructions', message: 'The instructions differ' };
      if (name === '') return { ...change, cause: 'context', message: `The list of items ${is}` };
      const what = rest.length === 0 ? `An item ${is}` : `${rest.join('.')} of an item ${is}`;
      return { ...change, cause: 'context', message: what };
    }
    case 'tools': {
      if (name === '') return { ...change, cause: 'tool', message: `The list of tools ${is}` };
      if (name === 'order')
        return { ...change, cause: 'tool', message: 'The tools have another order' };
      const what = rest.length === 0 ? '' : `${rest.join('.')} of `;
      return { ...change, cause: 'tool', subject: name, message: `${what}tool ${name} ${is}` };
    }
    case 'output':
      return { ...change, cause: 'output', message: `The schema of the answer ${is}` };
    case 'cache':
      return { ...change, cause: 'cache', message: `The cached part ${is}` };
    default: {
      const message = `Option ${change.path.join('.')} ${is}`;
      return { ...change, cause: 'option', subject: field, message };
    }
  }
}

/** Indexes of lists are not significant for a group of changes. */
function wildcard(key: string): string {
  return /^\d+$/.test(key) ? '*' : key;
}
