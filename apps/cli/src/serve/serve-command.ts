import { existsSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { MillraceError } from '@millrace/core';
import { createServer, type ServedAgent, type Server, type ServerOptions } from '@millrace/server';
import { resolveWorkFolder } from '../command/paths.ts';
import { untilStopped } from '../command/stop-signals.ts';
import { createSpanExporter } from '../command/tracing.ts';
import type { ServeArgs } from '../contract/args.ts';
import type { Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { pageFolder } from '../package-files.ts';
import { oneLine } from '../text/cells/printable.ts';
import { writeText } from '../text/terminal/terminal-gate.ts';
import { type DefaultAgents, defaultAgents } from './default-agents.ts';
import { openServerStore, type ServerStore } from './open-server-store.ts';
import { type OperatorToken, readOperatorToken } from './operator-token.ts';
import { loadAgents } from './served-agents.ts';
import { limitYoungGeneration } from './young-generation.ts';

/** Runs `millrace serve`. It serves agents over HTTP until a signal arrives. */
export async function serveCommand(args: ServeArgs, host: Host): Promise<number> {
  const { signal } = host;
  const cwd = await untilStopped(signal, resolveWorkFolder(args, host.cwd));
  const opening = openServerStore(args, host.env, diagnosticWriter(args, host));
  const data = await untilStopped(signal, opening);
  const closing: (() => Promise<void>)[] = [() => data.close()];
  const releaseYoungGeneration = limitYoungGeneration();
  try {
    const loaded = await untilStopped(signal, loadServedAgents(args, host, cwd, data));
    closing.push(loaded.close);
    const { agents } = loaded;
    for (const note of loaded.notes) writeText(host.stderr, `${note}\n`);
    const reading = readOperatorToken(args, host.env, data.folder);
    const access = await untilStopped(signal, reading);
    for (const note of access.notes) writeText(host.stderr, `${note}\n`);
    const { tokens } = access;
    const page = pageFolder();
    const otlp = createSpanExporter(args.otlp, host.env, diagnosticWriter(args, host));
    const server = openServer(args, host, data, { agents, tokens, page, exporter: otlp });
    const { url } = await listen(server, args);
    const words = { url, agents, data: data.path, access };
    writeText(host.stdout, startMessage({ ...words, hasPage: page !== undefined }));
    await waitForAbort(signal);
    writeText(
      host.stderr,
      'Stopping. Running tasks are stored for the next server. Press Ctrl-C again to stop at once.\n',
    );
    await server.close();
    await otlp?.close();
    return exitCodes.done;
  } finally {
    releaseYoungGeneration();
    for (const close of closing.toReversed()) await close();
  }
}

async function loadServedAgents(
  { agents, yes }: ServeArgs,
  { env }: Host,
  cwd: string,
  { log, folder }: ServerStore,
): Promise<DefaultAgents> {
  if (agents === undefined)
    return defaultAgents({ log, cwd, env, data: dataPaths(folder), mayChange: yes });
  return { agents: await loadAgents(agents, log), notes: [], close: async () => {} };
}

/** Returns the paths of the data folder, with and without links. */
function dataPaths(folder: () => string): readonly string[] {
  try {
    const path = resolve(folder());
    return existsSync(path) ? [...new Set([path, realpathSync(path)])] : [path];
  } catch {
    // With Postgres and a token of the user, the server needs no folder.
    return [];
  }
}

function openServer(
  args: ServeArgs,
  host: Host,
  { log, rows, secret }: ServerStore,
  served: Pick<ServerOptions, 'agents' | 'tokens' | 'page' | 'exporter'>,
): Server {
  const { log: format, allowHosts: hosts, origins, basePath, trustedProxies } = args;
  const write = (line: string) => writeText(host.stderr, `${line}\n`);
  return createServer({
    ...{ ...served, log, rows, secret, agentNetworks: readAgentNetworks(args, host) },
    ...{ hosts, origins, basePath, trustedProxies },
    requestLog: { format, write },
    onDiagnostic: diagnosticWriter(args, host),
  });
}

/**
 * Returns the networks in which remote agents may be. Returns undefined for the default of the
 * server.
 */
function readAgentNetworks(
  { agentNetworks }: ServeArgs,
  { env }: Host,
): readonly string[] | undefined {
  const given = agentNetworks ?? env['MILLRACE_AGENT_NETWORKS'] ?? '';
  const names = given.split(',').map((name) => name.trim());
  return given === '' ? undefined : names.filter((name) => name !== '');
}

/** Maximum number of characters of a diagnostic in the log. */
const maxDiagnostic = 4000;

/** Returns a function that writes one line for each problem. */
function diagnosticWriter({ log: format }: ServeArgs, { stderr }: Host): (problem: string) => void {
  const note = (problem: string) => ({ time: new Date().toISOString(), kind: 'note', problem });
  return (problem) => {
    // A problem can contain a message of another program, which must not look like more lines of the log.
    const line = oneLine(problem, maxDiagnostic);
    writeText(stderr, `${format === 'json' ? JSON.stringify(note(line)) : line}\n`);
  };
}

async function listen(
  server: Server,
  { port, host }: ServeArgs,
): Promise<{ readonly url: string }> {
  try {
    return await server.listen({ port, host });
  } catch (error) {
    await server.close();
    throw listenError(error, port, host);
  }
}

function listenError(error: unknown, port = 5003, host = '127.0.0.1'): unknown {
  const { code } = error as { readonly code?: string };
  const fail = (why: string) =>
    new MillraceError(
      'cannot_listen',
      `Cannot listen on ${host}, port ${port}: ${why}`,
      { port },
      { cause: error },
    );
  switch (code) {
    case 'EADDRINUSE':
      return fail(
        'another program uses it. Choose another port with --port <n>; --port 0 takes any free one',
      );
    case 'EACCES':
      return fail('permission denied. Choose a port of at least 1024 with --port <n>');
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return fail('this machine has no such address. Choose another with --host <name>');
    case 'unauthorized':
      return fail(
        'everyone in the network could use the agents. Set MILLRACE_TOKEN to a random text (openssl rand -hex 32), or remove --host',
      );
    default:
      return error;
  }
}

function waitForAbort(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  signal.addEventListener('abort', () => resolve(), { once: true });
  return promise;
}

interface StartedServer {
  readonly url: string;
  readonly agents: readonly ServedAgent[];
  readonly data: string;
  readonly access: OperatorToken;
  /**
   * True if the web page is available. The published package contains it. In a clone, it must be
   * built first.
   */
  readonly hasPage: boolean;
}

/**
 * Returns the text that is printed at the start. It contains the address, the agents and example
 * commands.
 */
function startMessage(started: StartedServer): string {
  const { url, agents, data } = started;
  const width = Math.max(...agents.map(({ name }) => name.length));
  const rows = agents.map(({ name, type, description = '' }) =>
    `  ${name.padEnd(width)}  ${type.padEnd('async'.length)}  ${description}`.trimEnd(),
  );
  return `Millrace listens on ${url} (${url}/docs has the routes)
${pageLine(started)}
Agents:
${rows.join('\n')}
Sessions are stored in ${data}

Try it:
${exampleCommands(started).join('\n')}

`;
}

/**
 * Returns the line about the web page. The URL contains the token in its fragment. Browsers do not
 * send fragments, so the token does not appear in server logs.
 */
function pageLine({ url, hasPage, access: { own } }: StartedServer): string {
  if (!hasPage) return 'There is no web page; npm run serve builds it';
  if (own === undefined) return `Open ${url} in a browser`;
  return `Open ${url}/#token=${own.token} in a browser. The link signs you in; keep it to yourself`;
}

/**
 * Returns the start of a command that sends the token. curl reads the header from standard input,
 * because other users can see the arguments of a program.
 */
function curlCommand({ tokens, own }: OperatorToken): string {
  if (tokens === 'none') return 'curl -N';
  const header =
    own === undefined
      ? `printf 'authorization: Bearer %s' "$MILLRACE_TOKEN"`
      : `sed 's/^/authorization: Bearer /' ${shellQuoted(own.path)}`;
  return `${header} | curl -N -H @-`;
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns two commands. The first sends a message, the second streams the task's events. */
function exampleCommands({ url, agents, access }: StartedServer): readonly string[] {
  const { name, type } =
    agents.find((agent) => agent.type !== 'async') ?? agents[0] ?? placeholderAgent;
  const curl = curlCommand(access);
  const content = '"content":{"type":"text","author":"user","content":"Hello"}';
  const how = type === 'async' ? ['event/send', ''] : ['message/send', ',"stream":true'];
  const send = `{"method":"${how[0]}","params":{"task_name":"first",${content}${how[1]}}}`;
  const make = '{"method":"task/create","params":{"name":"first"}}';
  const post = (body: string) =>
    `  ${curl} ${url}/agents/name/${name}/rpc -H 'content-type: application/json' -d '${body}'`;
  return [
    ...(type === 'async' ? [post(make)] : []),
    post(send),
    `  ${curl} '${url}/tasks/name/first/stream?view=events'`,
  ];
}

const placeholderAgent = { name: '<name>', type: 'sync' } as const;
