import {
  type FormQuestion,
  formLimits,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  readForm,
} from '@millrace/core';
import { agentSecretsOf, Redactor } from '@millrace/providers';
import type { Agent } from '../../contract/agent.ts';
import { AgentError } from '../../contract/agent-error.ts';
import type { FormAnswer } from '../../contract/tool.ts';
import type { RemoteEvent, RemotePeer, RemoteRequest } from '../contract.ts';
import { questionText, withCall } from '../question-text.ts';
import { type RemoteAgentOptions, remoteAgent } from '../remote-agent.ts';
import { CancelledInterrupts, cancelledEntry } from './cancelled-interrupts.ts';
import { callsOf, messagesOf } from './history.ts';
import { type AgUiConnection, runEvents, textIn } from './read-events.ts';
import { RunReader } from './run-reader.ts';

/** Options of `agUiAgent`. */
export interface AgUiAgentOptions extends RemoteAgentOptions {
  /** The address to which runs are sent, without a user name and a password. */
  readonly url: string;
  /** Headers of all requests, for example `{ authorization: 'Bearer …' }`. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Data for the agent, as `forwardedProps` of each run. Default: none. */
  readonly forwardedProps?: JsonValue | undefined;
  /** Maximum time without a byte of the agent, in milliseconds. Default: 300,000. */
  readonly idleTimeoutMs?: number | undefined;
  /** Sends requests. Default: the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/**
 * Creates an agent that passes its work to a remote agent, which speaks AG-UI 1.0. The texts, reasoning, calls
 * and results of the remote agent are streamed to our log.
 *
 * - An interrupt is a form, which any client of the session can answer. The answer resumes the run.
 * - A stop closes the connection of the run. If the remote agent waits for an answer, a further run cancels its
 *   question.
 * - The id of the thread is the id of our session. Each run contains the messages of the session.
 *
 * @example
 * const agent = agUiAgent({ url: 'https://agents.example/weather', log });
 */
export function agUiAgent(options: AgUiAgentOptions): Agent {
  const {
    url,
    headers = {},
    forwardedProps,
    idleTimeoutMs = 300_000,
    fetch: send,
    ...rest
  } = options;
  const { username, password, host } = new URL(url);
  if (username !== '' || password !== '') {
    const message =
      'Cannot use the option url of agUiAgent: it has a user name or a password. Send them in headers.authorization';
    throw new AgentError('bad_option', message, { of: 'agUiAgent', option: 'url' });
  }
  const connection: AgUiConnection = {
    ...{ url, headers, idleTimeoutMs },
    fetch: send ?? ((input, init) => fetch(input, init)),
  };
  const secrets = agentSecretsOf({ url, headers });
  const cancelled = new CancelledInterrupts(connection);
  const remote = { connection, forwardedProps, cancelled, redactor: new Redactor(secrets) };
  const peer: RemotePeer = {
    ...{ protocol: 'ag-ui', name: host, secrets },
    send: (request) => sendRun(remote, request),
  };
  return remoteAgent(peer, rest);
}

/** Maximum number of runs for one message. Each answer to interrupts starts a run. */
const maxRuns = 100;

interface RemoteAgUi {
  readonly connection: AgUiConnection;
  readonly forwardedProps: JsonValue | undefined;
  readonly cancelled: CancelledInterrupts;
  /** Removes secrets from a question before it is shortened. */
  readonly redactor: Redactor;
}

async function* sendRun(
  { connection, forwardedProps, cancelled, redactor }: RemoteAgUi,
  { session: threadId, items, memory, signal }: RemoteRequest,
): AsyncGenerator<RemoteEvent> {
  const messages = messagesOf(items, callsOf(items));
  const reader = new RunReader(new Set(messages.map(({ id }) => String(id))));
  // The last message may have ended while the agent waited for answers.
  const before = cancelled.takeOpen(threadId, openInterrupts(memory));
  let resume: readonly JsonObject[] = before.map(cancelledEntry);
  /** The interrupts that wait for an answer at the agent. */
  let open: readonly string[] = [];
  const newInput = (): JsonObject => ({
    ...{ threadId, runId: crypto.randomUUID(), protocolVersion: '1.0', state: {} },
    ...{ messages: [...messages, ...reader.messages], tools: [], context: [] },
    forwardedProps: forwardedProps ?? {},
  });
  try {
    for (let runs = 0; runs < maxRuns; runs++) {
      const input = { ...newInput(), ...(resume.length > 0 && { resume: [...resume] }) };
      for await (const event of runEvents(connection, input, signal)) {
        open = [];
        yield* reader.add(event);
        if (reader.end !== undefined) break;
      }
      const { end } = reader;
      if (end === undefined) throw new Error('The agent ended the stream before its run');
      if (end.problem !== undefined) {
        return yield { type: 'end', stop: { reason: 'error' }, problem: end.problem };
      }
      open = end.interrupts.flatMap((interrupt) => textIn(interrupt, 'id') ?? []);
      if (end.interrupts.length === 0) return yield { type: 'end', stop: end.stop };
      resume = yield* askAll(end.interrupts, reader, redactor);
      signal.throwIfAborted();
      yield reader.next();
    }
    throw new Error(`The agent asked more than ${maxRuns} times`);
  } finally {
    if (open.length > 0) cancelled.send(threadId, newInput(), open);
  }
}

/** Asks the questions of all interrupts. Returns the answers, as the next run contains them. */
async function* askAll(
  interrupts: readonly JsonObject[],
  reader: RunReader,
  redactor: Redactor,
): AsyncGenerator<RemoteEvent, readonly JsonObject[]> {
  const answers: Promise<JsonObject>[] = [];
  for (const interrupt of interrupts) {
    const { promise, resolve } = Promise.withResolvers<FormAnswer>();
    const call = textIn(interrupt, 'toolCallId');
    const form = formOf(redactor.json(interrupt), redactor.json(reader.madeCall(call)));
    answers.push(promise.then((answer) => entryOf(interrupt, form, answer)));
    if (form.refusal === undefined) {
      yield { type: 'question', call, form: form.question, answer: resolve };
      continue;
    }
    yield { type: 'reasoning', text: form.refusal, message: `refusal-${crypto.randomUUID()}` };
    resolve({ action: 'cancel' });
  }
  return Promise.all(answers);
}

interface CallInQuestion {
  readonly name: string;
  readonly input: JsonValue;
}

interface InterruptForm {
  readonly question: FormQuestion;
  /** True if the answer is only the value of the field `answer`. */
  readonly isPlain: boolean;
  /** The reason why nobody may answer the form. Default: none. */
  readonly refusal?: string | undefined;
}

/**
 * Returns the form for an interrupt, with the name and the input of the call that it is about. Fields that a
 * form cannot have are left out.
 */
function formOf(interrupt: JsonObject, call: CallInQuestion | undefined): InterruptForm {
  const { responseSchema: schema } = interrupt;
  const text = textIn(interrupt, 'message') ?? textIn(interrupt, 'reason') ?? 'The agent asks';
  const hidden = hiddenCall(interrupt);
  const about = call ?? hidden;
  const message = about === undefined ? questionText(text) : withCall(text, about);
  // Our log does not have the call of a sub-agent. Without its whole input, nobody can decide about it.
  const isCut = call === undefined && hidden && !message.includes(JSON.stringify(hidden.input));
  const refusal = isCut
    ? `The question about a call of ${hidden.name} was refused, because its input is too long for a form.`
    : undefined;
  const properties =
    isJsonObject(schema) && isJsonObject(schema['properties']) ? schema['properties'] : {};
  const entries = Object.entries(properties);
  const hasFields = entries.length <= formLimits.fields;
  const simple = (hasFields ? entries : []).filter(
    ([name, property]) =>
      readForm({ message, schema: { type: 'object', properties: { [name]: property ?? null } } })
        .ok,
  );
  const required =
    isJsonObject(schema) && Array.isArray(schema['required']) ? schema['required'] : [];
  const names = new Set<JsonValue>(simple.map(([name]) => name));
  const isWhole = required.every((name) => names.has(name));
  const shown = { type: 'object', properties: Object.fromEntries(simple), required };
  if (simple.length > 0 && isWhole && readForm({ message, schema: shown }).ok)
    return { question: { message, schema: shown }, isPlain: false, refusal };
  const answer = { type: 'string', title: 'Answer' };
  const plain = { type: 'object', properties: { answer }, required: ['answer'] };
  return { question: { message, schema: plain }, isPlain: true, refusal };
}

/** Returns the call of a sub-agent of a Millrace server. The messages of the thread do not contain it. */
function hiddenCall({ metadata }: JsonObject): CallInQuestion | undefined {
  const known = isJsonObject(metadata) ? metadata['millrace'] : undefined;
  const input = isJsonObject(known) ? known['input'] : undefined;
  return input === undefined ? undefined : { name: textIn(known, 'name') ?? 'Input:', input };
}

/** Returns the answer to an interrupt, as the next run contains it. */
function entryOf(
  interrupt: JsonObject,
  { isPlain }: InterruptForm,
  answer: FormAnswer,
): JsonObject {
  const interruptId = textIn(interrupt, 'id') ?? '';
  if (answer.action !== 'accept') return cancelledEntry(interruptId);
  const { content } = answer;
  return {
    interruptId,
    status: 'resolved',
    payload: isPlain ? (content['answer'] ?? null) : content,
  };
}

/** Returns the ids of the interrupts that had no answer when the last message ended. */
function openInterrupts(memory: JsonValue | undefined): readonly string[] {
  const ids = isJsonObject(memory) ? memory['interrupts'] : undefined;
  return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
}
