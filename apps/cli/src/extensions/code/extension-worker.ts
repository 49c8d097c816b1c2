// The program of the worker thread in which one extension runs. The thread has no access to the objects of the
// main thread, so a mistake of the extension can end only this thread.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { basename, extname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';
import type {
  Extension,
  ExtensionApi,
  ExtensionCommand,
  ExtensionProvider,
  ExtensionRenderer,
  ExtensionTool,
} from '@millrace/tools/extension';
import type { FromWorker, Registered, ToWorker, WorkerStart } from './extension-messages.ts';

const { path, cwd, isOfProject, files } = workerData as WorkerStart;
const apiVersion = 1;
const maxProblemLength = 4000;
const maxStatusLength = 200;

const post = (message: FromWorker) => parentPort?.postMessage(message);

const tools = new Map<string, ExtensionTool>();
const commands = new Map<string, ExtensionCommand>();
const renderers: ExtensionRenderer[] = [];
const providers = new Map<string, ExtensionProvider>();
const rest: Pick<Registered, 'themes' | 'models'> = { themes: [], models: [] };
let isLoading = true;

const api: ExtensionApi = {
  ...{ version: apiVersion, cwd, isOfProject },
  tool: (tool) => add(() => tools.set(tool.name, tool)),
  command: (command) => add(() => commands.set(command.name, command)),
  renderer: (renderer) => add(() => renderers.push(renderer)),
  theme: (theme) => add(() => rest.themes.push(plain(theme) as Registered['themes'][number])),
  model: (model) => add(() => rest.models.push(plain(model) as Registered['models'][number])),
  provider: (provider) => add(() => providers.set(provider.name, provider)),
  status: (text) => post({ type: 'status', text: `${text ?? ''}`.slice(0, maxStatusLength) }),
};

function add(register: () => void): void {
  if (!isLoading) throw new Error('An extension can register only before it returns');
  register();
}

/** Returns a copy with only JSON values, because functions cannot leave the thread. */
function plain(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value) ?? 'null');
}

/** Refuses files that the user has not trusted with these bytes. */
function checkImports(trusted: Readonly<Record<string, string>>): void {
  const formats: Readonly<Record<string, string>> = {
    ...{ '.ts': 'module-typescript', '.mts': 'module-typescript' },
    ...{ '.js': 'module', '.mjs': 'module', '.json': 'json' },
  };
  registerHooks({
    load(url, context, next) {
      if (url.startsWith('node:')) return next(url, context);
      const file = url.startsWith('file:') ? fileURLToPath(url) : url;
      const digest = Object.hasOwn(trusted, file) ? trusted[file] : undefined;
      const format = formats[extname(file)];
      if (digest === undefined || format === undefined)
        throw new Error(`It imports ${file}, which is not in its folder`);
      const source = readFileSync(file);
      if (createHash('sha256').update(source).digest('hex') !== digest)
        throw new Error(`${file} has changed since it was trusted`);
      return { format, source, shortCircuit: true };
    },
  });
}

function registered(): Registered {
  return {
    tools: [...tools.values()].map(({ name, description, input, timeoutMs }) => ({
      ...{ name, description, timeoutMs },
      input: (plain(input) ?? {
        type: 'object',
        properties: {},
      }) as Registered['tools'][number]['input'],
    })),
    commands: [...commands.values()].map(({ name, description, argument, key }) => ({
      ...{ name, description, argument, key },
    })),
    providers: [...providers.values()].map(({ stream, ...provider }) => provider),
    renderers: renderers.map(({ tools: names }) => [...names]),
    ...rest,
  };
}

async function load(): Promise<void> {
  if (files !== undefined) checkImports(files);
  const module = (await import(pathToFileURL(path).href)) as {
    readonly default?: unknown;
    readonly apiVersion?: unknown;
  };
  const { default: extension, apiVersion: wanted = apiVersion } = module;
  if (wanted !== apiVersion)
    throw new Error(`It needs version ${wanted} of the API, and this program has ${apiVersion}`);
  if (typeof extension !== 'function')
    throw new Error('Its default export is not a function, such as (millrace) => { … }');
  await (extension as Extension)(api);
  isLoading = false;
  post({ type: 'ready', registered: registered() });
}

const open = new Map<number, AbortController>();

type Call = ToWorker & { readonly type: 'call' };

async function answer(call: Call): Promise<void> {
  const { id } = call;
  const abort = new AbortController();
  open.set(id, abort);
  try {
    const value = await run(call, abort.signal);
    post({ type: 'answer', id, value: plain(value) as never });
  } catch (error) {
    const { status } = error as { readonly status?: unknown };
    const hasStatus = typeof status === 'number' && status >= 400 && status <= 599;
    post({ type: 'error', id, problem: problemOf(error), ...(hasStatus && { status }) });
  } finally {
    open.delete(id);
  }
}

function run({ id, kind, name, input, key }: Call, signal: AbortSignal): unknown {
  const context = { cwd, signal };
  if (kind === 'provider') return stream(id, name, input, { ...context, key });
  if (kind === 'tool') return tools.get(name)?.execute(input as never, context);
  if (kind === 'command') return commands.get(name)?.run(String(input), context);
  return renderers
    .find(({ tools: names }) => names.includes(name))
    ?.render(input as never, context);
}

/** Sends the chunks of an answer. After an abort, the rest is not read. */
async function stream(
  id: number,
  name: string,
  input: unknown,
  context: Parameters<ExtensionProvider['stream']>[1],
): Promise<void> {
  for await (const chunk of providers.get(name)?.stream(input as never, context) ?? []) {
    if (context.signal.aborted) return;
    post({ type: 'chunk', id, chunk: plain(chunk) as never });
  }
}

function problemOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return `${text || 'unknown error'}${lineOf(error)}`.slice(0, maxProblemLength);
}

/**
 * Returns the file and the line of an error in the extension. The stack of a syntax error starts with them.
 * Other errors have them in their first line about a file. Empty if they are unknown.
 */
function lineOf(error: unknown): string {
  const { stack = '' } = error instanceof Error ? error : {};
  const place =
    /^(?:file:\/\/)?(\/[^\n]*):(\d+)\n/.exec(stack) ??
    /\n {4}at (?:[^\n(]*\()?file:\/\/([^\n]*):(\d+):\d+\)?/.exec(stack);
  const [, file, line] = place ?? [];
  // Errors of this program, such as a wrong default export, have no place in the extension.
  if (file === undefined || file === fileURLToPath(import.meta.url)) return '';
  return ` (${basename(file)}:${line})`;
}

parentPort?.on('message', (message: ToWorker) => {
  if (message.type === 'abort') open.get(message.id)?.abort();
  else void answer(message);
});

await load().catch((error: unknown) => post({ type: 'failed', problem: problemOf(error) }));
