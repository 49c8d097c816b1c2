import { randomUUID } from 'node:crypto';
import {
  type Part,
  Role,
  type SendMessageRequest,
  type StreamResponse,
  type Task,
  TaskState,
} from '@a2a-js/sdk';
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client';

/** The protocol bindings of A2A that the server has. */
export const a2aBindings = ['JSONRPC', 'HTTP+JSON'] as const;

interface ClientOptions {
  readonly binding?: (typeof a2aBindings)[number] | undefined;
  readonly token?: string | undefined;
  readonly agent?: string | undefined;
  /** Replaces the origin of all requests after the card, for example by the origin of a proxy. */
  readonly through?: string | undefined;
}

/** Returns the client of `@a2a-js/sdk` for an agent of a server. It reads the card first. */
export function a2aClient(url: string, options: ClientOptions = {}): Promise<Client> {
  const { binding = 'JSONRPC', token, agent = 'helper', through } = options;
  const fetchImpl: typeof fetch = (input, init) => {
    const headers = new Headers(init?.headers);
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    // Each request through a proxy has its own connection, so that the proxy can cut it.
    if (through !== undefined) headers.set('connection', 'close');
    const target = String(input);
    const isDirect = through === undefined || target.endsWith('agent-card.json');
    return fetch(isDirect ? target : target.replace(url, through), { ...init, headers });
  };
  const factory = new ClientFactory(
    ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
      transports: [
        binding === 'JSONRPC'
          ? new JsonRpcTransportFactory({ fetchImpl })
          : new RestTransportFactory({ fetchImpl }),
      ],
      preferredTransports: [binding],
      cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
    }),
  );
  return factory.createFromUrl(`${url}/agents/name/${agent}/a2a/`);
}

interface SentTo {
  readonly taskId?: string | undefined;
  readonly contextId?: string | undefined;
  readonly messageId?: string | undefined;
  readonly historyLength?: number | undefined;
  readonly returnImmediately?: boolean | undefined;
}

const emptyPart = { metadata: undefined, filename: '', mediaType: '' } as const;

function textPart(value: string): Part {
  return { ...emptyPart, content: { $case: 'text', value } };
}

export function dataPart(value: unknown): Part {
  return { ...emptyPart, content: { $case: 'data', value } };
}

/** Returns the parameters of `sendMessage` and `sendMessageStream`. */
export function sent(content: string | readonly Part[], to: SentTo = {}): SendMessageRequest {
  const { taskId = '', contextId = '', messageId = randomUUID() } = to;
  const { historyLength, returnImmediately = false } = to;
  return {
    ...{ tenant: '', metadata: undefined },
    message: {
      ...{ messageId, taskId, contextId, role: Role.ROLE_USER, metadata: undefined },
      ...{ extensions: [], referenceTaskIds: [] },
      parts: typeof content === 'string' ? [textPart(content)] : [...content],
    },
    configuration: {
      ...{ acceptedOutputModes: [], taskPushNotificationConfig: undefined },
      ...{ historyLength, returnImmediately },
    },
  };
}

/** Collects the events of a task as a client does: artifacts with their texts, and the status. */
export class A2aTranscript {
  id = '';
  contextId = '';
  state = '';
  readonly artifacts = new Map<string, string>();
  readonly history: string[] = [];
  readonly kinds: string[] = [];

  async read(events: AsyncIterable<StreamResponse>): Promise<this> {
    for await (const event of events) this.add(event);
    return this;
  }

  add({ payload }: StreamResponse): void {
    if (payload === undefined) throw new Error('An event is empty');
    if (this.kinds.at(-1) !== payload.$case) this.kinds.push(payload.$case);
    if (payload.$case === 'task') this.#setTask(payload.value);
    if (payload.$case === 'statusUpdate') {
      const { status } = payload.value;
      this.state = TaskState[status?.state ?? 0] ?? '';
      const told = status?.message;
      if (told !== undefined && status?.state === TaskState.TASK_STATE_WORKING)
        this.history.push(textOf(told.parts));
    }
    if (payload.$case !== 'artifactUpdate') return;
    const { artifact, append } = payload.value;
    const { artifactId: id = '', parts = [] } = artifact ?? {};
    const before = append ? (this.artifacts.get(id) ?? '') : '';
    this.artifacts.set(id, before + textOf(parts));
  }

  #setTask(task: Task): void {
    this.id = task.id;
    this.contextId = task.contextId;
    this.state = TaskState[task.status?.state ?? 0] ?? '';
    this.artifacts.clear();
    for (const { artifactId, parts } of task.artifacts)
      this.artifacts.set(artifactId, textOf(parts));
    this.history.length = 0;
    for (const { role, parts } of task.history)
      if (role === Role.ROLE_AGENT) this.history.push(textOf(parts));
  }

  /** The texts of the artifacts, without retracted ones. */
  get texts(): readonly string[] {
    return [...this.artifacts.values()].filter((text) => text !== '');
  }
}

/** Returns the texts and the data of parts as one text. */
export function textOf(parts: readonly Part[]): string {
  return parts
    .map(({ content }) => {
      if (content?.$case === 'text') return content.value;
      if (content?.$case === 'data') return JSON.stringify(content.value);
      return `<${content?.$case}>`;
    })
    .join('');
}

/** Returns a task as a transcript. */
export function transcriptOf(task: unknown): A2aTranscript {
  const transcript = new A2aTranscript();
  transcript.add({ payload: { $case: 'task', value: task as Task } });
  return transcript;
}
