import { memoryLog } from '@millrace/log';
import { loadConfig } from '../config/load-config.ts';
import type { BuiltAgent, Chosen } from '../contract/agent.ts';
import type { ChatArgs, PrintArgs, RunArgs } from '../contract/args.ts';
import type { Config } from '../contract/config.ts';
import type { Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import type { Store } from '../store/open-store.ts';
import { isTrustGiven } from './ask-user.ts';
import { sessionToOpen } from './open-session.ts';
import { workFolder } from './paths.ts';
import { hasTerminal, withoutTerminal } from './without-terminal.ts';

/** A chat, or one answer that is printed. */
export async function runAgent(args: ChatArgs | PrintArgs, host: Host): Promise<number> {
  if (args.command === 'chat' && hasTerminal(host)) return chat(args, host);
  if (args.command === 'print') return print(args, host, false);
  const { args: instead, stdin, isDemo } = await withoutTerminal(args, host);
  return print(instead, { ...host, stdin }, isDemo);
}

async function print(args: PrintArgs, host: Host, isDemo: boolean): Promise<number> {
  const printing = import('../print/print-run.ts');
  printing.catch(() => {});
  const cwd = await workFolder(args, host.cwd);
  const config = await loadConfig({ args, env: host.env, cwd });
  warn(config, host);
  return withAgent({ args, config, host, cwd, approve: 'park', isDemo }, async (run) => {
    const { printRun } = await printing;
    const { stdin, stdout, stderr, env, signal } = host;
    return printRun({ args, ...run, stdin, stdout, stderr, env, cwd, signal, isKept: !isDemo });
  });
}

async function chat(args: ChatArgs, host: Host): Promise<number> {
  const { env } = host;
  // React takes as long to load as all that is done meanwhile; that it fails is said when it is needed.
  const chatting = import('../chat/run-chat.ts');
  chatting.catch(() => {});
  const cwd = await workFolder(args, host.cwd);
  const config = await trustedConfig(args, host, cwd);
  if (config === undefined) return exitCodes.aborted;
  warn(config, host);
  return withAgent({ args, config, host, cwd, approve: 'wait', isDemo: false }, async (run) => {
    const session = await sessionToOpen(args.session, { ...run, cwd, host });
    if (session === undefined) return exitCodes.aborted;
    const { runChat } = await chatting;
    return runChat({ ...run, config, session, prompt: args.prompt, cwd, env, signal: host.signal });
  });
}

/** A project's file may want things that only a person can allow; undefined where they leave instead. */
async function trustedConfig(args: RunArgs, host: Host, cwd: string): Promise<Config | undefined> {
  const { env } = host;
  const config = await loadConfig({ args, env, cwd });
  const isTrusted = await isTrustGiven(config, host);
  if (isTrusted === undefined) return undefined;
  return isTrusted ? loadConfig({ args: { ...args, trust: true }, env, cwd }) : config;
}

function warn({ warnings }: Config, { stderr }: Host): void {
  for (const warning of warnings) stderr.write(`${warning}\n`);
}

interface Needs {
  readonly args: RunArgs;
  readonly config: Config;
  readonly host: Host;
  readonly cwd: string;
  readonly approve: 'wait' | 'park';
  /** One turn of the demo, of which nothing is kept. */
  readonly isDemo: boolean;
}

interface Ready extends Pick<Store, 'log'> {
  readonly built: BuiltAgent;
  readonly chosen: Chosen;
}

/** Opens all that a run needs, and closes it again, whatever happens. */
async function withAgent(
  { args, config, host, cwd, approve, isDemo }: Needs,
  use: (ready: Ready) => Promise<number>,
): Promise<number> {
  const [{ chooseModel }, { buildAgent }, { openStore }, { runTracing }] = await Promise.all([
    import('../models/choose-model.ts'),
    import('../agent/build-agent.ts'),
    import('../store/open-store.ts'),
    import('./tracing.ts'),
  ]);
  const { env } = host;
  const choosing = isDemo ? demoTurn(cwd, host) : chooseModel({ config, env, cwd });
  // Heard below, after the store was opened meanwhile.
  choosing.catch(() => {});
  await using opened = new AsyncDisposableStack();
  const { observers, close } = runTracing(args.otlp, host);
  opened.defer(close);
  const store = isDemo ? memoryStore() : await openStore({ config, env });
  opened.defer(() => store.close());
  const { log } = store;
  const chosen = await choosing;
  const { signal } = host;
  const built = await buildAgent({ config, chosen, log, cwd, approve, observers, signal });
  opened.defer(() => built.close());
  return await use({ log, built, chosen });
}

/** Where nobody watches, it need not speak as slowly as one reads. */
async function demoTurn(cwd: string, { stdout }: Host): Promise<Chosen> {
  const { demoProvider } = await import('../demo/demo-provider.ts');
  const provider = demoProvider({ cwd, ...(stdout.isTTY ? {} : { pauseMs: 0 }) });
  const why = 'Nothing was said and there is no terminal, so the demo shows what it can do.';
  return { provider, label: 'demo', why, isDemo: true };
}

function memoryStore(): Pick<Store, 'log' | 'close'> {
  const log = memoryLog();
  return { log, close: () => log.close() };
}
