import { realpath } from 'node:fs/promises';
import { systemClock, type Tool } from '@millrace/agent';
import { safeEnv } from '@millrace/tools';
import { ruleAgainst, rulesOnReading } from '../agent/system-prompt.ts';
import { envOutsideProject } from '../config/server-place.ts';
import type { BuildOptions, ChosenModel } from '../contract/agent.ts';
import type { SessionMode } from '../contract/config.ts';
import { ModelError } from '../contract/errors.ts';
import type { AgentFile, Extensions } from '../contract/extensions.ts';
import { HookRunner } from './hook-runner.ts';
import { noExtensions } from './load-extensions.ts';
import { SessionHooks } from './session-hooks.ts';
import { skillsPrompt, skillTool } from './skills.ts';

/** A sub-agent from a file, with its model. */
export interface OpenedAgent {
  readonly file: AgentFile;
  /** The model of the sub-agent. Undefined means the model of the main agent. */
  readonly chosen: ChosenModel | undefined;
}

/** The extensions of a session, ready for an agent. */
export interface ConnectedExtensions {
  readonly extensions: Extensions;
  /** Undefined if there are no hooks. */
  readonly hooks: SessionHooks | undefined;
  /** The tool `skill`, if the model can load a skill. */
  readonly tools: readonly Tool[];
  /** A text for the system prompt. Empty if there are no skills. */
  readonly prompt: string;
  readonly agents: readonly OpenedAgent[];
  readonly problems: readonly string[];
  onNotice(listener: (text: string) => void): void;
  close(): Promise<void>;
}

interface ConnectOptions {
  readonly approveFreely: ConstructorParameters<typeof SessionHooks>[0]['approveFreely'];
  /** The prefixes of the tools of MCP servers. */
  readonly servers: readonly string[];
  /** Returns the current mode of the session. */
  readonly mode: () => SessionMode;
  /** Prepares the sandbox for a hook of the project. Default: it runs without a sandbox. */
  readonly confine?: ConstructorParameters<typeof HookRunner>[0]['confine'];
}

/** Maximum number of sub-agents from files, because each one makes every request longer. */
const maxAgents = 30;
/** Maximum number of messages that wait for a listener. */
const maxWaiting = 50;

/** The names of the modes in the input of hooks. */
const hookModes: Readonly<Record<SessionMode, string>> = {
  plan: 'plan',
  ask: 'default',
  'accept-edits': 'acceptEdits',
  auto: 'acceptEdits',
  allow: 'bypassPermissions',
  'read-only': 'plan',
};

/** Prepares the extensions of a session for an agent. */
export async function connectExtensions(
  options: BuildOptions,
  { approveFreely, servers, mode, confine }: ConnectOptions,
): Promise<ConnectedExtensions> {
  const { extensions = noExtensions, log, cwd, config, approve } = options;
  const { skills, agents, hooks: found } = extensions;
  const problems: string[] = [];
  const opened = await openAgents(agents.slice(0, maxAgents), options, problems);
  if (agents.length > maxAgents)
    problems.push(`Only ${maxAgents} of ${agents.length} sub-agents from files are used.`);
  const notices = new Notices();
  const clock = options.clock ?? systemClock;
  const { notify } = notices;
  const openHooks = async () => {
    const outside = await envOutsideProject(options.env ?? {}, cwd);
    const env = safeEnv(outside, { allow: config.commands?.env });
    const projectEnv = safeEnv(outside);
    const permissionMode = () => hookModes[mode()];
    const runner = new HookRunner({
      ...{ extensions, cwd, env, projectEnv, clock, permissionMode, confine, notify },
    });
    const isInteractive = approve === 'wait';
    return new SessionHooks({ runner, log, cwd, clock, servers, approveFreely, isInteractive });
  };
  // Most sessions have no hooks. The environment of hooks takes several milliseconds.
  const hooks = found.length === 0 ? undefined : await openHooks();
  const { rules } = config.permissions;
  const ruling = rulesOnReading(await realpath(cwd), rules);
  const refusals = await Promise.all(
    skills.map((one) => rules.length > 0 && ruleAgainst(ruling, { ...one, real: one.realPath })),
  );
  const allowed = skills.filter((_, at) => !refusals[at]);
  const prompt = skillsPrompt(allowed);
  const { code } = extensions;
  code?.onNotice(notify);
  return {
    ...{ extensions, hooks, agents: opened, prompt },
    tools:
      prompt === ''
        ? []
        : [skillTool(allowed, (path) => rules.length > 0 && ruling(path) !== 'allow')],
    problems: [...extensions.problems, ...(code?.problems ?? []), ...problems],
    onNotice: notices.listen,
    close: async () => {
      await hooks?.close();
      await code?.close();
    },
  };
}

async function openAgents(
  files: readonly AgentFile[],
  { openModel }: BuildOptions,
  problems: string[],
): Promise<readonly OpenedAgent[]> {
  return Promise.all(
    files.map(async (file): Promise<OpenedAgent> => {
      const { model, path, origin } = file;
      if (model === undefined || openModel === undefined) return { file, chosen: undefined };
      try {
        return { file, chosen: await openModel(model, origin) };
      } catch (error) {
        const why = error instanceof ModelError ? `. ${error.message}` : '';
        problems.push(
          `${path}: the model ${model} cannot be used, so the sub-agent uses the main model${why}.`,
        );
        return { file, chosen: undefined };
      }
    }),
  );
}

/** Messages of hooks for the user. They wait until a listener is set. */
class Notices {
  #waiting: readonly string[] = [];
  #listener: ((text: string) => void) | undefined;

  readonly notify = (text: string): void => {
    if (this.#listener !== undefined) this.#listener(text);
    else this.#waiting = [...this.#waiting, text].slice(-maxWaiting);
  };

  readonly listen = (listener: (text: string) => void): void => {
    this.#listener = listener;
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const text of waiting) listener(text);
  };
}
