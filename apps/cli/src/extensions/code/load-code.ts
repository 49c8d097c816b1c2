import { type Clock, systemClock, type Tool } from '@millrace/agent';
import type { JsonObject, JsonValue } from '@millrace/core';
import { extensionTool, isReservedToolName, safeEnv } from '@millrace/tools';
import { envOutsideProject } from '../../config/server-place.ts';
import type { ModelConfig } from '../../contract/config.ts';
import type { ExtensionCode, ExtensionModule } from '../../contract/extensions.ts';
import type { Env } from '../../contract/host.ts';
import { isUsedKey } from '../../input/prompt/press-key.ts';
import type { Registered } from './extension-messages.ts';
import { ExtensionProcess } from './extension-process.ts';
import { providerModel } from './provider-model.ts';

interface LoadCodeOptions {
  readonly cwd: string;
  readonly env: Env;
  readonly clock?: Clock | undefined;
}

const toolMs = 120_000;
const commandMs = 60_000;
const renderMs = 2_000;
/** Maximum length of a text that a renderer returns. The log stores it. */
const maxDisplayLength = 20_000;
const maxWaiting = 50;

/** An extension that has loaded. */
interface Loaded {
  readonly process: ExtensionProcess;
  readonly registered: Registered;
}

/**
 * Starts each extension in its own thread and returns what they add. An extension that fails or hangs is
 * reported in `problems` and skipped. Only modules that the user trusts may be given.
 */
export async function loadExtensionCode(
  modules: readonly ExtensionModule[],
  { cwd, env, clock = systemClock }: LoadCodeOptions,
): Promise<ExtensionCode | undefined> {
  if (modules.length === 0) return undefined;
  const problems: string[] = [];
  const status = new Map<string, string>();
  const notices = new Listeners<string>();
  const changes = new Listeners<void>();
  const outside = safeEnv(await envOutsideProject(env, cwd));
  const starting = modules.map(async (module): Promise<Loaded | undefined> => {
    const { name, path, files, origin } = module;
    let hasLoaded = false;
    const process = new ExtensionProcess({
      ...{ name, path, files, cwd, clock, env: outside, isOfProject: origin === 'project' },
      notify: (text) => {
        if (hasLoaded) notices.emit(text);
      },
      onStatus: (text) => {
        if (text === '') status.delete(name);
        else status.set(name, text);
        changes.emit();
      },
    });
    try {
      const registered = await process.load();
      hasLoaded = true;
      return { process, registered };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      problems.push(`${path} is not used. ${why}.`);
      await process.close();
      return undefined;
    }
  });
  const loaded = (await Promise.all(starting)).filter((one) => one !== undefined);
  const unique = withoutDoubles(loaded, (problem) => void problems.push(problem));
  return {
    problems,
    tools: unique.tools.map(({ process, one }) => toolOf(process, one)),
    commands: unique.commands.map(({ process, one: { name, description, argument, key } }) => ({
      ...{ name, description, argument, key },
      run: async (given, signal) => {
        const call = { kind: 'command', name, input: given } as const;
        return replyOf(await process.call(call, { timeoutMs: commandMs, signal }));
      },
    })),
    themes: unique.themes.map(({ one }) => one),
    models: Object.fromEntries([
      ...unique.models.map(({ one }) => [one.name, modelOf(one, env)] as const),
      ...unique.providers.map(
        ({ process, one }) => [one.name, providerModel(process, one, env)] as const,
      ),
    ]),
    status: () => [...status.values()],
    onStatus: changes.add,
    onNotice: notices.add,
    rendered: new Set(loaded.flatMap(({ registered }) => registered.renderers.flat())),
    render: (result) => render(loaded, result),
    close: async () => {
      await Promise.all(loaded.map(({ process }) => process.close()));
    },
  };
}

type Kind = 'tools' | 'commands' | 'themes' | 'models' | 'providers';
type One<K extends Kind> = Registered[K][number];
type Owned<K extends Kind> = readonly {
  readonly process: ExtensionProcess;
  readonly one: One<K>;
}[];

/** Leaves out what has the name of a built-in tool or of something that another extension has registered. */
function withoutDoubles(
  loaded: readonly Loaded[],
  report: (problem: string) => void,
): { readonly [K in Kind]: Owned<K> } {
  const of = <K extends Kind>(kind: K, what: string, names = new Set<string>()): Owned<K> => {
    return loaded.flatMap(({ process, registered }) =>
      (registered[kind] as readonly One<K>[]).flatMap((one) => {
        const isTaken = names.has(one.name) || (kind === 'tools' && isReservedToolName(one.name));
        names.add(one.name);
        if (!isTaken) return [{ process, one }];
        report(`The ${what} ${one.name} of ${process.name} is not used: its name is taken.`);
        return [];
      }),
    );
  };
  const models = new Set<string>();
  return {
    ...{ tools: of('tools', 'tool'), themes: of('themes', 'theme') },
    commands: withoutTakenKeys(of('commands', 'command'), report),
    ...{ models: of('models', 'model', models), providers: of('providers', 'provider', models) },
  };
}

/** Removes keys that the chat uses, and keys that another command has. The commands stay. */
function withoutTakenKeys(
  commands: Owned<'commands'>,
  report: (problem: string) => void,
): Owned<'commands'> {
  const keys = new Set<string>();
  return commands.map(({ process, one }) => {
    const { key, name } = one;
    if (key === undefined) return { process, one };
    const isTaken = keys.has(key) || isUsedKey(key);
    keys.add(key);
    if (!isTaken) return { process, one };
    report(`The key ${key} of /${name} of ${process.name} is not used: the key is taken.`);
    return { process, one: { ...one, key: undefined } };
  });
}

function toolOf(process: ExtensionProcess, one: One<'tools'>): Tool {
  const { name, description, input, timeoutMs = toolMs } = one;
  return extensionTool({
    ...{ name, description, inputSchema: input as JsonObject, owner: process.name },
    execute: (given, signal) =>
      process.call({ kind: 'tool', name, input: given }, { timeoutMs, signal }),
  });
}

function replyOf(value: JsonValue | undefined): {
  readonly print?: string;
  readonly send?: string;
  readonly prompt?: string;
} {
  const { print, send, prompt } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return {
    ...(typeof print === 'string' && { print }),
    ...(typeof send === 'string' && { send }),
    ...(typeof prompt === 'string' && { prompt }),
  };
}

function modelOf(
  { name: _, provider = 'compatible', keyVariable, ...rest }: One<'models'>,
  env: Env,
): ModelConfig {
  const apiKey = keyVariable === undefined ? undefined : env[keyVariable];
  return { provider, ...rest, ...(apiKey !== undefined && { apiKey }) };
}

/** Returns the text of the first renderer for this tool. A renderer that fails has no effect. */
async function render(
  loaded: readonly Loaded[],
  result: { readonly tool: string; readonly input: JsonValue; readonly text: string },
): Promise<string | undefined> {
  const { tool } = result;
  const found = loaded.find(({ registered }) =>
    registered.renderers.some((names) => names.includes(tool)),
  );
  const call = { kind: 'render', name: tool, input: result } as const;
  const text = await found?.process.call(call, { timeoutMs: renderMs }).catch(() => undefined);
  return typeof text === 'string' && text !== '' ? text.slice(0, maxDisplayLength) : undefined;
}

/** Listeners of an event. Events before the first listener are kept for it, up to a limit. */
class Listeners<T> {
  readonly #listeners: ((value: T) => void)[] = [];
  #waiting: T[] = [];

  readonly add = (listener: (value: T) => void): void => {
    this.#listeners.push(listener);
    for (const value of this.#waiting) listener(value);
    this.#waiting = [];
  };

  readonly emit = (value: T): void => {
    if (this.#listeners.length === 0 && this.#waiting.length < maxWaiting)
      this.#waiting.push(value);
    for (const listener of this.#listeners) listener(value);
  };
}
