import { DefaultChatTransport, type UIMessage } from 'ai';
import OpenAI from 'openai';
import { A2aTranscript, type a2aBindings, a2aClient, sent } from '../a2a/a2a-client.ts';
import { agUiClient, runAgUi, say } from '../ag-ui/ag-ui-client.ts';
import { BrowserChat } from '../ai-sdk-client.ts';
import type { Door, Line, LineKind } from './door.ts';

// Doors for the clients of other projects: `openai`, `@ag-ui/client`, `@a2a-js/sdk` and the chat of the AI SDK.

const line = (kind: LineKind, text: string): readonly Line[] =>
  text === '' ? [] : [`${kind}: ${text}`];

/** Each request has its own connection, so that the proxy can cut it. */
const ownConnection: typeof fetch = (input, init) => {
  const headers = new Headers(init?.headers);
  headers.set('connection', 'close');
  return fetch(input, { ...init, headers });
};

type OutputItem = OpenAI.Responses.ResponseOutputItem;

/** The text of an item comes from its deltas, so that a lost or repeated delta is visible. */
function itemLines(item: OutputItem, texts: ReadonlyMap<string, string>): readonly Line[] {
  const text = texts.get(item.id ?? '') ?? '';
  if (item.type === 'message') return line('text', text);
  if (item.type === 'reasoning') return line('reasoning', text);
  if (item.type !== 'mcp_call') return [];
  const { name, arguments: given, output } = item;
  return [...line('call', `${name} ${given}`), ...line('result', output ?? '')];
}

const openAiDoor: Door = async ({ cut, name }) => {
  const client = new OpenAI({
    ...{ apiKey: 'none', baseURL: `${cut}/v1`, maxRetries: 0, fetch: ownConnection },
  });
  const body = { model: 'helper', input: 'Time?', stream: true, background: true } as const;
  const texts = new Map<string, string>();
  let response: OpenAI.Responses.Response | undefined;
  let last = -1;
  const isOver = () => !['queued', 'in_progress', undefined].includes(response?.status);
  while (!isOver()) {
    try {
      // A repeated request with the same key is the same response.
      const events =
        response === undefined
          ? await client.responses.create(body, { headers: { 'idempotency-key': name } })
          : await client.responses.retrieve(response.id, { stream: true, starting_after: last });
      for await (const event of events) {
        last = event.sequence_number;
        if ('response' in event) response = event.response;
        if ('delta' in event && 'item_id' in event && typeof event.delta === 'string')
          texts.set(event.item_id, (texts.get(event.item_id) ?? '') + event.delta);
      }
    } catch (error) {
      if (error instanceof OpenAI.APIError && error.status !== undefined) throw error;
    }
  }
  const lines = (response?.output ?? []).flatMap((item) => itemLines(item, texts));
  return { session: response?.conversation?.id, lines };
};

const agUiDoor: Door = async ({ cut, name }) => {
  const agent = agUiClient(cut, { threadId: name });
  say(agent, 'Time?');
  for (let isOver = false; !isOver; ) {
    const { events, error } = await runAgUi(agent, { runId: 'r1' });
    const last = events.at(-1)?.type ?? '';
    isOver = last === 'RUN_FINISHED' || (error === undefined && last === 'RUN_ERROR');
    // The events after an error of the agent are complete, too.
    isOver ||= events.some(({ type }) => type === 'RUN_ERROR');
  }
  const lines = agent.messages.flatMap((message): readonly Line[] => {
    const content = String(message.content ?? '');
    if (message.role === 'user') return line('user', content);
    if (message.role === 'reasoning') return line('reasoning', content);
    if (message.role === 'tool') return line('result', content);
    const calls = 'toolCalls' in message ? (message.toolCalls ?? []) : [];
    const made = calls.map(({ function: { name: called, arguments: given } }) =>
      line('call', `${called} ${given}`),
    );
    return [...line('text', content), ...made.flat()];
  });
  return { session: undefined, lines };
};

const a2aDoor =
  (binding: (typeof a2aBindings)[number]): Door =>
  async ({ cut, direct, name: contextId }) => {
    const client = await a2aClient(await direct(), { binding, through: cut });
    const live = new A2aTranscript();
    // The same message in the same context is the same task, even if the client does not know its id yet.
    const message = sent('Time?', { contextId, messageId: 'm' });
    while (!/COMPLETED|FAILED/.test(live.state)) {
      try {
        const events =
          live.id === ''
            ? client.sendMessageStream(message)
            : client.resubscribeTask({ tenant: '', id: live.id });
        for await (const event of events) live.add(event);
      } catch (error) {
        if (!String(error).includes('has ended')) continue;
        const task = await client.getTask({ tenant: '', id: live.id }).catch(() => undefined);
        if (task !== undefined) live.add({ payload: { $case: 'task', value: task } });
      }
    }
    return { session: undefined, lines: live.texts.flatMap((text) => line('text', text)) };
  };

/** The page reads the messages of the server if the answer ended while the connection was lost. */
const useChatDoor: Door = async ({ cut, name }) => {
  const api = `${cut}/agents/name/helper/chat`;
  const transport = new DefaultChatTransport({ api, fetch: ownConnection });
  let isOver = false;
  const chat = new BrowserChat({
    ...{ url: cut, agent: 'helper', id: name },
    init: {
      transport,
      // The test looks at the status.
      onError: () => {},
      onFinish: ({ isDisconnect, isError, isAbort }) => {
        isOver = !isDisconnect && !isError && !isAbort;
      },
    },
  });
  const message: UIMessage = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Time?' }] };
  const readStored = async () => {
    try {
      const reply = await ownConnection(`${api}/${name}`);
      return ((await reply.json()) as { readonly messages: UIMessage[] }).messages;
    } catch {
      // This connection was cut, too.
      return undefined;
    }
  };
  await chat.sendMessage(message);
  while (!isOver) {
    const stored = await readStored();
    if (stored === undefined) continue;
    chat.messages = [];
    if (stored.length === 0) {
      await chat.sendMessage(message);
      continue;
    }
    chat.messages = stored.slice(0, 1);
    await chat.resumeStream();
    if (isOver || chat.status === 'error') continue;
    // No run is active. If the list is still the same, the answer is complete.
    const after = await readStored();
    isOver = stored.length > 1 && JSON.stringify(after) === JSON.stringify(stored);
    chat.messages = stored;
  }
  const lines = chat.messages.flatMap(({ role, parts }) =>
    parts.flatMap((part): readonly Line[] => {
      if (part.type === 'text') return line(role === 'user' ? 'user' : 'text', part.text);
      if (part.type === 'reasoning') return line('reasoning', part.text);
      if (part.type !== 'tool-look' || !('state' in part)) return [];
      const call = line('call', `look ${JSON.stringify(part.input)}`);
      if (part.state === 'output-error') return [...call, ...line('result', part.errorText)];
      return part.state === 'output-available'
        ? [...call, ...line('result', String(part.output))]
        : call;
    }),
  );
  return { session: undefined, lines };
};

/** A door, and the parts of a transcript that its protocol shows. */
export const clientDoors: Readonly<Record<string, readonly [Door, readonly LineKind[]]>> = {
  'the Responses API': [openAiDoor, ['reasoning', 'text', 'call', 'result']],
  'AG-UI': [agUiDoor, ['user', 'reasoning', 'text', 'call', 'result']],
  'A2A with JSON-RPC': [a2aDoor('JSONRPC'), ['text']],
  'A2A with HTTP': [a2aDoor('HTTP+JSON'), ['text']],
  useChat: [useChatDoor, ['user', 'reasoning', 'text', 'call', 'result']],
};
