import { HttpAgent, type HttpAgentConfig, type RunAgentParameters } from '@ag-ui/client';
import type { BaseEvent, Message } from '@ag-ui/core';

/** Returns the client of AG-UI for the agent `helper` of a server. */
export function agUiClient(url: string, options: Partial<HttpAgentConfig> = {}): HttpAgent {
  return new HttpAgent({
    ...{ threadId: 'talk', url: `${url}/agents/name/helper/ag-ui`, fetch: fetchQuietly },
    ...options,
  });
}

/**
 * Sends a request. The client cancels the body after a lost connection, and throws the error of `cancel`
 * outside of its promises. The reader therefore has a `cancel` without errors.
 */
async function fetchQuietly(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  const reader = response.ok ? response.body?.getReader() : undefined;
  if (reader === undefined) return response;
  const quiet = { read: () => reader.read(), cancel: () => reader.cancel().catch(() => {}) };
  Object.defineProperty(response, 'body', { value: { getReader: () => quiet } });
  return response;
}

/** Adds a message of the user to the messages of the client. */
export function say(agent: HttpAgent, content: string, id: string = crypto.randomUUID()): void {
  agent.setMessages([...agent.messages, { id, role: 'user', content }]);
}

/** An event with all its fields. */
type AnyEvent = BaseEvent & Readonly<Record<string, unknown>>;

/**
 * Runs an agent and returns the events that passed the checks of the client. `error` is the error with which
 * the run of the client ended.
 */
export async function runAgUi(agent: HttpAgent, parameters: RunAgentParameters = {}) {
  const events: AnyEvent[] = [];
  let error: Error | undefined;
  const run = agent.runAgent(parameters, {
    onEvent: ({ event }) => void events.push(event as AnyEvent),
    onRunFailed: ({ error: failed }) => {
      error = failed;
      // The test looks at the error, so the client must not print and throw it. The type lacks this field.
      return { stopPropagation: true } as object;
    },
  });
  const { newMessages } = await run;
  return { events, newMessages, error, types: typesOf(events) };
}

/** Returns the types of the events, without repetitions of a type. */
function typesOf(events: readonly AnyEvent[]): readonly string[] {
  const types: readonly string[] = events.map(({ type }) => type);
  return types.filter((type, index) => type !== types[index - 1]);
}

/** Returns the messages as short texts. */
export function shownOf(messages: readonly Message[]): readonly string[] {
  return messages.map((message) => {
    const { role, content } = message;
    const calls = 'toolCalls' in message ? (message.toolCalls ?? []) : [];
    const made = calls.map(({ function: { name, arguments: given } }) => `${name}${given}`);
    return `${role}: ${[...(content === undefined ? [] : [content]), ...made].join(' ')}`;
  });
}
