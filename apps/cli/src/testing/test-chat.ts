import { type AgentOptions, createAgent, type Tool } from '@millrace/agent';
import { type JsonObject, type Part, type SessionId, sessionId, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import type { Provider } from '@millrace/providers';
import { type Scripted, scriptedProvider } from '@millrace/providers/scripted';
import { type PermissionRule, permissionPolicy } from '@millrace/tools';
import { onTestFinished } from 'vitest';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { retryOptions } from '../agent/agent-options.ts';
import { runChat } from '../chat/run-chat.ts';
import type { BuiltAgent, ChosenModel } from '../contract/agent.ts';
import type { Config } from '../contract/config.ts';
import { FakeKeyboard, FakeTerminal } from './fake-terminal.ts';

export interface TestChatOptions {
  readonly script?: readonly Scripted[] | undefined;
  /** Between two pieces of an answer. */
  readonly pauseMs?: number | undefined;
  readonly tools?: readonly Tool[] | undefined;
  readonly approve?: AgentOptions['approve'] | undefined;
  /** Where sessions are; one of its own unless told. */
  readonly log?: Log | undefined;
  readonly clock?: VirtualClock | undefined;
  readonly session?: SessionId | undefined;
  readonly prompt?: string | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly cwd?: string | undefined;
  /** Before a request that failed is tried again. */
  readonly retryMs?: number | undefined;
  /** Who drives. */
  readonly name?: string | undefined;
  readonly reflows?: boolean | undefined;
  /** What a change of a file would do. */
  readonly preview?: BuiltAgent['preview'] | undefined;
  /** Of the model, asked for each time it is drawn. */
  readonly label?: (() => string) | undefined;
}

type AskUser = NonNullable<Parameters<BuiltAgent['setQuestionHandler']>[0]>;

/** A chat in a terminal that a test looks at, with a keyboard that it types on and time that it lets pass. */
export class TestChat {
  readonly terminal: FakeTerminal;
  readonly keyboard = new FakeKeyboard();
  readonly clock: VirtualClock;
  readonly log: Log;
  readonly session: SessionId;
  /** The rules that are to be kept. */
  readonly remembered: PermissionRule[] = [];
  /** The exit code, when it was left. */
  readonly exitCode: Promise<number>;
  readonly #abort = new AbortController();
  #ask: AskUser | undefined;
  #policy = permissionPolicy({ root: '/folder' });
  #isOver = false;

  constructor(options: TestChatOptions = {}) {
    const { columns = 80, rows = 24, clock = new VirtualClock(), reflows = false } = options;
    const { cwd = '/folder', prompt, env = { NO_COLOR: '1' } } = options;
    this.terminal = new FakeTerminal({ columns, rows, reflows });
    this.clock = clock;
    this.log = options.log ?? memoryLog({ clock });
    this.session = options.session ?? sessionId('chat');
    const built = this.#builtOf(options, undefined);
    const { log, session, terminal, keyboard } = this;
    this.exitCode = runChat({
      ...{ config, built, chosen: built.chosen, log, session, cwd, env, prompt, clock },
      signal: this.#abort.signal,
      stdout: terminal as never,
      stdin: keyboard as never,
    }).finally(() => {
      this.#isOver = true;
    });
    onTestFinished(() => this.abort());
  }

  /** Presses keys, as a terminal tells them. */
  type(keys: string): void {
    this.keyboard.write(keys);
  }

  /** Lets time pass until something is so. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await this.advance(10);
  }

  /** Lets some time pass, and what that leads to happen. */
  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Until a text is there, on the screen or above. */
  waitForText(text: string): Promise<void> {
    return this.until(() => this.terminal.text.includes(text));
  }

  /** Until a text is on the screen no more. */
  waitUntilGone(text: string): Promise<void> {
    return this.until(() => !this.terminal.screen.includes(text));
  }

  /** Until it can be typed, and nothing goes on. */
  async idle(): Promise<void> {
    await this.until(() => this.terminal.screen.includes('Enter sends'));
    await this.advance(100);
  }

  async send(text: string): Promise<void> {
    await this.idle();
    this.type(`${text}\r`);
  }

  /** Ctrl-D. */
  async quit(): Promise<number> {
    this.type('\u0004');
    await this.until(() => this.#isOver);
    return this.exitCode;
  }

  /** As a signal does. */
  async abort(): Promise<void> {
    this.#abort.abort();
    await this.until(() => this.#isOver);
  }

  /** As the tool `ask_user` does. */
  get ask(): AskUser {
    if (this.#ask === undefined) throw new Error('Nobody answers questions');
    return this.#ask;
  }

  #builtOf(options: TestChatOptions, other: Provider | undefined): BuiltAgent {
    const { script = [], pauseMs, tools = [], approve, name = 'millrace' } = options;
    const { log, clock } = this;
    const provider = other ?? scriptedProvider(script, { pieces: 'token', pauseMs, clock });
    const { label = () => 'script' } = options;
    const chosen: ChosenModel = {
      ...{ provider, why: 'Using a script.', isDemo: true },
      get label() {
        return label();
      },
    };
    const retry = { ...retryOptions, baseDelayMs: options.retryMs ?? 0 };
    return {
      agent: createAgent({ provider, log, tools, approve, clock, name, retry }),
      ...{ chosen, tools, problems: [], close: async () => {} },
      allows: async ({ name: tool, input = {} }) =>
        this.#policy.decide({ tool, input }).decision === 'allow',
      policy: () => this.#policy,
      remember: async (rule, forHowLong) => {
        if (forHowLong === 'always') this.remembered.push(rule);
        this.#policy = this.#policy.remember(rule);
      },
      forget: async (rule) => {
        const without = (all: readonly PermissionRule[]) =>
          all.filter((one) => JSON.stringify(one) !== JSON.stringify(rule));
        this.remembered.splice(0, Number.POSITIVE_INFINITY, ...without(this.remembered));
        this.#policy = permissionPolicy({
          ...this.#policy,
          remembered: without(this.#policy.remembered),
        });
      },
      rememberedRules: async () => this.remembered,
      preview: options.preview ?? (async () => undefined),
      setQuestionHandler: (ask) => {
        this.#ask = ask;
      },
      with: ({ chosen: changed = chosen }) => ({
        ...this.#builtOf(options, changed.provider),
        chosen: changed,
      }),
    };
  }
}

const config: Config = {
  ...{ models: {}, limits: {}, mcpServers: [], files: [], warnings: [] },
  permissions: { mode: 'ask', rules: [] },
};

/** A response that calls a tool, or several. */
export function toolCalls(...wanted: readonly (readonly [string, string, JsonObject])[]): Scripted {
  return {
    content: {
      parts: wanted.map(
        ([id, name, input]): Part => ({
          ...({ kind: 'tool_call', toolCallId: toolCallId(id), name } as const),
          arguments: JSON.stringify(input),
        }),
      ),
    },
  };
}

export const keys = {
  enter: '\r',
  altEnter: '\u001b\r',
  escape: '\u001b',
  up: '\u001b[A',
  down: '\u001b[B',
  ctrlC: '\u0003',
  ctrlD: '\u0004',
  ctrlR: '\u0012',
} as const;
