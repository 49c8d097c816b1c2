import { type AgentOptions, createAgent, defineTool, type Tool } from '@millrace/agent';
import { type JsonObject, type Part, type SessionId, sessionId, toolCallId } from '@millrace/core';
import { type Log, memoryLog } from '@millrace/log';
import type { Provider } from '@millrace/providers';
import { type ScriptEntry, scriptedProvider } from '@millrace/providers/scripted';
import { type PermissionPolicy, type PermissionRule, permissionPolicy } from '@millrace/tools';
import { onTestFinished } from 'vitest';
import { z } from 'zod';
import { patientMs } from '../../../../packages/core/src/testing/runs.ts';
import { VirtualClock } from '../../../../packages/providers/src/testing/virtual-clock.ts';
import { retryOptions } from '../agent/agent-options.ts';
import { offeredModes } from '../agent/session-mode.ts';
import { runChat } from '../chat/run-chat.ts';
import type { BuiltAgent, ChosenModel } from '../contract/agent.ts';
import type { Config, SessionMode } from '../contract/config.ts';
import { noExtensions } from '../extensions/load-extensions.ts';
import { quietMs, settleMs } from '../input/answer/answer-guard.ts';
import { FakeKeyboard, FakeTerminal } from './fake-terminal.ts';

export interface TestChatOptions {
  readonly script?: readonly ScriptEntry[] | undefined;
  /** Pause between two pieces of an answer. */
  readonly pauseMs?: number | undefined;
  readonly tools?: readonly Tool[] | undefined;
  readonly approve?: AgentOptions['approve'] | undefined;
  readonly guardrails?: AgentOptions['guardrails'] | undefined;
  /** Stores the sessions. Default: a new memory log. */
  readonly log?: Log | undefined;
  readonly clock?: VirtualClock | undefined;
  readonly session?: SessionId | undefined;
  readonly prompt?: string | undefined;
  /** If true, the chat starts with a list of sessions. Default: false. */
  readonly picks?: boolean | undefined;
  readonly columns?: number | undefined;
  readonly rows?: number | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  readonly cwd?: string | undefined;
  /** Delay before a failed request is retried. Default: 0. */
  readonly retryMs?: number | undefined;
  /** Name of the driver. Default: `millrace`. */
  readonly name?: string | undefined;
  readonly reflows?: boolean | undefined;
  /** The widths of the terminal. Default: the widths that the chat assumes. */
  readonly widthOf?: ((character: string) => number) | undefined;
  /** Computes the preview of a file change. Default: none. */
  readonly preview?: BuiltAgent['preview'] | undefined;
  /** The permission mode of the agent. Default: `ask`. */
  readonly mode?: Config['permissions']['mode'] | undefined;
  /** The files that hooks or MCP servers execute. Default: none. */
  readonly executedFiles?: readonly string[] | undefined;
  /** The skills, commands and hooks that the chat shows. Default: none. */
  readonly extensions?: BuiltAgent['extensions'] | undefined;
  /** The progress of the MCP servers. Default: none. */
  readonly servers?: Partial<BuiltAgent['servers']> | undefined;
  /** The background commands of the tools. Default: none. */
  readonly background?: BuiltAgent['background'];
  /** Runs the commands of the user. Default: returns an empty output. */
  readonly runUserCommand?: BuiltAgent['runUserCommand'] | undefined;
  /** True for the chat that prints lines. Default: false. */
  readonly plain?: boolean | undefined;
  /** Default: the rules allow no call. */
  readonly runUnasked?: BuiltAgent['runUnasked'];
  /** Name of the model, read on each draw. Default: `script`. */
  readonly label?: (() => string) | undefined;
}

/** The longest real time for a chat of a test. */
const stuckMs = 60_000;
const stepsToSettle = 1000;

type AskUser = NonNullable<Parameters<BuiltAgent['setQuestionHandler']>[0]>;

/** A chat in a fake terminal with a fake keyboard and a virtual clock. */
export class TestChat {
  readonly terminal: FakeTerminal;
  readonly keyboard = new FakeKeyboard();
  readonly clock: VirtualClock;
  readonly log: Log;
  readonly session: SessionId;
  /** The rules that the user granted permanently. */
  readonly remembered: PermissionRule[] = [];
  /** Resolves with the exit code when the user leaves the chat. */
  readonly exitCode: Promise<number>;
  readonly #abort = new AbortController();
  #ask: AskUser | undefined;
  #policy: PermissionPolicy;
  #mode: SessionMode = 'ask';
  #isOver = false;
  #stepsAfterEnd = 0;

  constructor(options: TestChatOptions = {}) {
    const { columns = 80, rows = 24, clock = new VirtualClock(), reflows = false } = options;
    const { cwd = '/folder', prompt, env = { NO_COLOR: '1' }, mode = 'ask' } = options;
    this.terminal = new FakeTerminal({ columns, rows, reflows, widthOf: options.widthOf });
    this.clock = clock;
    this.log = options.log ?? memoryLog({ clock });
    this.session = options.session ?? sessionId('chat');
    this.#mode = mode;
    const { executedFiles } = options;
    this.#policy = permissionPolicy({ root: cwd, executedFiles });
    const built = this.#builtOf(options, undefined);
    const { log, session, terminal, keyboard } = this;
    this.exitCode = runChat({
      args: { plain: options.plain },
      ...{
        config: { ...config, permissions: { mode, rules: [] } },
        built,
        chosen: built.chosen,
        log,
        session,
        cwd,
        env,
        prompt,
        picks: options.picks,
        clock,
      },
      signal: this.#abort.signal,
      stdout: terminal as never,
      stdin: keyboard as never,
    }).finally(() => {
      this.#isOver = true;
    });
    onTestFinished(() => this.abort());
  }

  /** Types keys in the encoding of a terminal. */
  type(keys: string): void {
    this.keyboard.write(keys);
  }

  /**
   * Advances the clock until a condition is true. If this never happens, it throws an error that
   * contains the screen. An endless loop would keep the process busy after its test has timed out.
   */
  async until(isSo: () => boolean, what: () => string = () => String(isSo)): Promise<void> {
    const isLate = AbortSignal.timeout(patientMs(stuckMs));
    while (!isSo()) {
      // When a chat ends, its last effects appear in the next task of the event loop.
      if (isLate.aborted || (this.#isOver && this.#stepsAfterEnd++ > stepsToSettle))
        throw new Error(`The chat never reached: ${what()}. Its screen:\n${this.terminal.text}`);
      await this.advance(10);
    }
  }

  /** Advances the clock and lets pending work run. */
  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Waits for the end of a dialog's quiet period, so that the dialog accepts keys. */
  async quiet(): Promise<void> {
    await this.advance(50);
    await this.advance(quietMs);
    await this.advance(50);
  }

  /** Types keys and waits until an answer has taken effect. */
  async press(typed: string): Promise<void> {
    this.type(typed);
    await this.advance(1);
    await this.advance(1);
    await this.advance(settleMs);
    await this.advance(1);
  }

  /** Waits until a text is on the screen or in the scrollback. */
  waitForText(text: string): Promise<void> {
    return this.until(
      () => this.terminal.text.includes(text),
      () => `the text ${JSON.stringify(text)}`,
    );
  }

  /** Waits until a text is no longer on the screen. */
  waitUntilGone(text: string): Promise<void> {
    return this.until(
      () => !this.terminal.screen.includes(text),
      () => `no text ${JSON.stringify(text)}`,
    );
  }

  /** Waits until the prompt accepts input and no run is in progress. */
  async idle(): Promise<void> {
    await this.until(
      () => this.terminal.screen.includes('Enter sends'),
      () => 'a prompt that accepts input',
    );
    await this.advance(100);
  }

  async send(text: string): Promise<void> {
    await this.idle();
    // Commands that widen the rights of the agent count only if their keys do not arrive together.
    const isGuarded = /^[!/]/.test(text);
    for (const key of isGuarded ? [text.slice(0, 1), text.slice(1)] : [text]) {
      this.type(key);
      if (!isGuarded) continue;
      // The chat reads the key before the clock advances.
      await this.advance(1);
      await this.advance(100);
    }
    this.type('\r');
  }

  /** Presses Ctrl-D and waits for the exit code. */
  async quit(): Promise<number> {
    this.type('\u0004');
    await this.until(() => this.#isOver);
    return this.exitCode;
  }

  /** Ends the chat as a signal would. */
  async abort(): Promise<void> {
    this.#abort.abort();
    await this.until(() => this.#isOver);
  }

  /** The function that the tool `ask_user` calls to ask the user. */
  get ask(): AskUser {
    if (this.#ask === undefined) throw new Error('Nobody answers questions');
    return this.#ask;
  }

  #builtOf(options: TestChatOptions, other: Provider | undefined): BuiltAgent {
    const { script = [], pauseMs, tools = [], approve, name = 'millrace', guardrails } = options;
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
      agent: createAgent({ provider, log, tools, approve, clock, name, retry, guardrails }),
      appAgent: () => undefined,
      servers: {
        connecting: () => [],
        onChange: () => {},
        problems: () => [],
        ready: Promise.resolve(),
        list: () => [],
        reconnect: async () => {},
        prompts: () => [],
        login: async () => {},
        logout: async () => {},
        ...options.servers,
      },
      ...{ chosen, tools, problems: [], protection: undefined, close: async () => {} },
      ...{ extensions: options.extensions ?? noExtensions, onNotice: () => {} },
      allows: async ({ name: tool, input = {} }) =>
        this.#policy.decide({ tool, input }).decision === 'allow',
      reasonToAsk: async (call) => {
        const asked = { ...call, call, tool: tools[0], summary: call.name };
        const ruling =
          typeof approve === 'function' && (await approve(asked as never, {} as never));
        return typeof ruling === 'object' ? ruling.reason : undefined;
      },
      modes: offeredModes({ first: options.mode ?? 'ask', hasSandbox: true }),
      mode: () => this.#mode,
      setMode: (mode) => {
        this.#mode = mode;
      },
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
      background: options.background,
      runUserCommand: options.runUserCommand ?? (async () => ''),
      runUnasked: options.runUnasked,
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

/** Returns a scripted response with one or more tool calls. */
export function toolCalls(
  ...wanted: readonly (readonly [string, string, JsonObject])[]
): ScriptEntry {
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
  ctrlG: '\u0007',
  ctrlT: '\u0014',
} as const;

const bash = defineTool({
  ...{ name: 'bash', description: 'Runs', input: z.object({ command: z.string() }) },
  execute: async () => 'ran',
});

/** Returns the screen of a chat that asks whether to run a command, in 80 columns. */
export async function screenAbout(
  command: string,
  { plain, reason }: { readonly plain: boolean; readonly reason: string },
): Promise<string> {
  const script = [toolCalls(['c1', 'bash', { command }]), 'The end.'];
  const approve = () => ({ decision: 'ask' as const, reason });
  const chat = new TestChat({ script, tools: [bash], approve, plain, columns: 80 });
  await chat.until(() => /[>›] *$/.test(chat.terminal.text) || !plain);
  for (const key of ['Go', '\r']) {
    chat.type(key);
    await chat.advance(100);
  }
  await chat.waitForText(plain ? '1. Yes, once' : 'Yes, once');
  return chat.terminal.screen;
}
