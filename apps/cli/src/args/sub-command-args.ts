import {
  type BackupArgs,
  type DiffArgs,
  type DoctorArgs,
  type EvalArgs,
  type EvalGate,
  type HelpTopic,
  type InspectArgs,
  type LoginArgs,
  liveToolSettings,
  type McpLoginArgs,
  type ModelsArgs,
  type PluginsArgs,
  type ReplayArgs,
  type ReportArgs,
  type ServeArgs,
  type SessionsAction,
  type SessionsArgs,
  type SqlArgs,
  type TestArgs,
  testModes,
  type VerifyArgs,
} from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import {
  type CommandLine,
  flagAmount,
  flagCount,
  flagText,
  hasFlag,
  sharedArgs,
} from './command-line.ts';
import type { FlagName } from './flags.ts';
import { nearestName } from './nearest-name.ts';

const actions: readonly SessionsAction[] = ['list', 'show', 'delete', 'export', 'import', 'pin'];

export function sessionsArgs(line: CommandLine): SessionsArgs {
  const [word = 'list', ...operands] = line.operands;
  const action = actions.find((name) => name === word) ?? unknownAction(word);
  const named = flagText(line, 'output');
  // `export <id> x.html` is short for `export <id> --output x.html`. The ending distinguishes a file from an id.
  const isFile =
    action === 'export' &&
    named === undefined &&
    /\.(?:html?|md|jsonl)$/i.test(operands.at(-1) ?? '');
  const output = isFile ? operands.pop() : named;
  checkOperands(action, operands);
  checkFlags(action, line);
  return {
    ...sharedArgs(line),
    command: 'sessions',
    action,
    operands,
    all: hasFlag(line, 'all'),
    json: hasFlag(line, 'json'),
    output,
    yes: hasFlag(line, 'yes'),
    ...(action === 'pin' && { agents: flagText(line, 'agents'), agent: flagText(line, 'agent') }),
  };
}

function unknownAction(word: string): never {
  const near = nearestName(word, actions);
  const hint = near === undefined ? '' : ` Did you mean ${near}?`;
  throw new UsageError(
    `Unknown action of millrace sessions.${hint} Actions: ${actions.join(', ')}`,
  );
}

/** Flags that belong only to some actions of `millrace sessions`. */
const flagActions: Readonly<Partial<Record<FlagName, readonly SessionsAction[]>>> = {
  all: ['list'],
  json: ['list', 'show'],
  output: ['export'],
  yes: ['delete'],
  agents: ['pin'],
  agent: ['pin'],
};

function checkFlags(action: SessionsAction, { flags }: CommandLine): void {
  const misplaced = flags.find(({ name }) => flagActions[name]?.includes(action) === false);
  if (misplaced === undefined) return;
  const { name } = misplaced;
  const way = `Use it with ${flagActions[name]?.join(', ')}`;
  throw new UsageError(`--${name} is not for millrace sessions ${action}. ${way}`, { flag: name });
}

function checkOperands(action: SessionsAction, operands: readonly string[]): void {
  const command = `millrace sessions ${action}`;
  const most = { list: 0, show: 1, pin: 2 } as const;
  const hasTooMany =
    operands.length > (action in most ? most[action as keyof typeof most] : operands.length);
  if (hasTooMany) throw tooManyOperands(command);
  const hasNone = operands.length === 0 || operands.includes('');
  if (hasNone && action !== 'list' && action !== 'import') throw missingId(command);
}

export function pluginsArgs(line: CommandLine): PluginsArgs {
  const [word = 'list', operand = '', ...more] = line.operands;
  const action = (['list', 'add', 'remove'] as const).find((name) => name === word);
  if (action === undefined)
    throw new UsageError('Unknown action of millrace plugins. Actions: list, add, remove');
  if (more.length > 0 || (action === 'list' && operand !== ''))
    throw tooManyOperands('millrace plugins');
  if (action !== 'list' && operand === '')
    throw new UsageError(
      `millrace plugins ${action} needs ${action === 'add' ? 'a folder or a package' : 'the name of a plugin'}`,
    );
  return { ...sharedArgs(line), command: 'plugins', action, operand, yes: hasFlag(line, 'yes') };
}

export function mcpLoginArgs(line: CommandLine): McpLoginArgs {
  const [word = '', name = '', ...more] = line.operands;
  const action = (['login', 'logout'] as const).find((one) => one === word);
  if (action === undefined)
    throw new UsageError('Unknown action of millrace mcp. Actions: login, logout');
  if (more.length > 0) throw tooManyOperands('millrace mcp');
  if (name === '') throw new UsageError(`millrace mcp ${action} needs the name of an MCP server`);
  const device = hasFlag(line, 'device');
  return { ...sharedArgs(line), command: 'mcp-login', action, name, device };
}

export function loginArgs(line: CommandLine, command: LoginArgs['command']): LoginArgs {
  const [service = '', ...more] = line.operands;
  if (more.length > 0) throw tooManyOperands(`millrace ${command}`);
  if (service !== 'openrouter') {
    const why = service === '' ? 'needs a service' : `does not know ${service}`;
    throw new UsageError(
      `millrace ${command} ${why}. Services: openrouter. For an MCP server, use millrace mcp ${command} <server>. For other vendors, start millrace and enter a key`,
    );
  }
  return { ...sharedArgs(line), command, service };
}

export function replayArgs(line: CommandLine): ReplayArgs {
  const session = sessionOperand(line, 'replay');
  const json = hasFlag(line, 'json');
  return { ...sharedArgs(line), command: 'replay', session, speed: parseSpeed(line), json };
}

function parseSpeed(line: CommandLine): number {
  const value = flagText(line, 'speed') ?? '1';
  if (/^(max|infinity)$/i.test(value)) return Number.POSITIVE_INFINITY;
  const speed = /^\d{1,9}(\.\d{1,9})?$/.test(value) ? Number(value) : 0;
  if (speed > 0) return speed;
  throw new UsageError('--speed takes a number above 0, or max: --speed 4');
}

export function inspectArgs(line: CommandLine): InspectArgs {
  const session = sessionOperand(line, 'inspect');
  return { ...sharedArgs(line), command: 'inspect', session, json: hasFlag(line, 'json') };
}

export function diffArgs(line: CommandLine): DiffArgs {
  const [a, b, ...more] = line.operands;
  if (!a || b === '') {
    const way = 'millrace diff <id> <id>, or millrace diff <id of a fork>';
    throw new UsageError(`millrace diff needs session ids: ${way}. millrace sessions lists them`);
  }
  if (more.length > 0) throw tooManyOperands('millrace diff');
  return { ...sharedArgs(line), command: 'diff', a, b, json: hasFlag(line, 'json') };
}

export function testArgs(line: CommandLine): TestArgs {
  const { operands } = line;
  if (operands.includes(''))
    throw new UsageError('millrace test got an empty name. Name a folder, a file or a session');
  const [mode, tools] = [flagText(line, 'mode'), flagText(line, 'tools')];
  const testMode = testModes.find((one) => one === (mode ?? 'requests'));
  if (testMode === undefined)
    throw new UsageError(`--mode must be one of ${testModes.join(', ')}`, { flag: 'mode' });
  const liveTools = liveToolSettings.find((one) => one === (tools ?? 'recorded'));
  if (liveTools === undefined)
    throw new UsageError(`--tools must be one of ${liveToolSettings.join(', ')}`, {
      flag: 'tools',
    });
  if (tools !== undefined && testMode !== 'live')
    throw new UsageError('--tools is for --mode live. Other modes run no tool', { flag: 'tools' });
  const outputs = line.flags.flatMap(({ name, value }) => (name === 'output' ? [value] : []));
  assertReports(outputs);
  return {
    ...{
      ...sharedArgs(line),
      command: 'test',
      operands,
      mode: testMode,
      tools: liveTools,
      outputs,
    },
    ...{ agents: flagText(line, 'agents'), agent: flagText(line, 'agent') },
    ...{
      accept: hasFlag(line, 'accept'),
      json: hasFlag(line, 'json'),
      force: hasFlag(line, 'force'),
    },
  };
}

/** The ending of a file chooses the form of its report. */
function assertReports(paths: readonly string[]): void {
  if (paths.every((path) => /\.(html?|xml|json|md)$/i.test(path))) return;
  throw new UsageError('--output must end in .html, .xml, .json or .md', { flag: 'output' });
}

export function evalArgs(line: CommandLine): EvalArgs {
  const [file, ...more] = line.operands;
  if (!file)
    throw new UsageError('millrace eval needs a module with an experiment: millrace eval <file>');
  if (more.length > 0) throw tooManyOperands('millrace eval');
  const valuesOf = (flag: FlagName) =>
    line.flags.flatMap(({ name, value }) => (name === flag ? [value] : []));
  const outputs = valuesOf('output');
  assertReports(outputs);
  const [repeats, concurrency] = [flagCount(line, 'repeats'), flagCount(line, 'concurrency')];
  return {
    ...{ ...sharedArgs(line), command: 'eval', file, outputs, repeats, concurrency },
    ...{ gates: valuesOf('fail-under').map(gateOf), maxCost: flagAmount(line, 'max-cost') },
    ...{ retryFailed: hasFlag(line, 'retry-failed'), json: hasFlag(line, 'json') },
    force: hasFlag(line, 'force'),
  };
}

function gateOf(text: string): EvalGate {
  const form = /^(?:(?:([\w.-]+):)?([\w.-]+)=)?(0(?:\.\d{1,9})?|1(?:\.0{1,9})?)$/.exec(text);
  if (form === null)
    throw new UsageError(
      '--fail-under takes a limit from 0 to 1, as in --fail-under 0.8 or --fail-under correct=0.8',
      { flag: 'fail-under' },
    );
  const [, variant, scorer, limit] = form;
  return { variant, scorer, failUnder: Number(limit) };
}

export function sqlArgs(line: CommandLine): SqlArgs {
  const [query, ...more] = line.operands;
  if (more.length > 0)
    throw new UsageError('Put the query in quotes: millrace sql "SELECT count(*) FROM sessions"');
  const [json, csv] = [hasFlag(line, 'json'), hasFlag(line, 'csv')];
  const parquet = flagText(line, 'parquet');
  if (Number(json) + Number(csv) + Number(parquet !== undefined) > 1)
    throw new UsageError('Use only one of --json, --csv and --parquet');
  if (parquet !== undefined && query === undefined)
    throw new UsageError('--parquet needs a query: millrace sql "SELECT …" --parquet <file>');
  const format = json ? 'json' : csv ? 'csv' : 'table';
  const since = flagText(line, 'since');
  return { ...sharedArgs(line), command: 'sql', query, format, parquet, since };
}

export function verifyArgs(line: CommandLine): VerifyArgs {
  const { operands } = line;
  if (operands.length === 0 || operands.includes('')) throw missingId('millrace verify');
  const heads = line.flags.flatMap(({ name, value }) => (name === 'head' ? [value ?? ''] : []));
  const [key, sign] = [flagText(line, 'key'), flagText(line, 'sign')];
  if (heads.length > 0 !== (key !== undefined))
    throw new UsageError('Use --head <file> and --key <file> together', { flag: 'head' });
  const json = hasFlag(line, 'json');
  if (sign !== undefined && (operands.length > 1 || json))
    throw new UsageError('--sign takes one session, and prints JSON anyway', { flag: 'sign' });
  return { ...sharedArgs(line), command: 'verify', operands, heads, key, sign, json };
}

export function reportArgs(line: CommandLine): ReportArgs {
  const session = sessionOperand(line, 'report');
  return {
    ...{ ...sharedArgs(line), command: 'report', session, output: flagText(line, 'output') },
    ...{ agents: flagText(line, 'agents'), agent: flagText(line, 'agent') },
    yes: hasFlag(line, 'yes'),
  };
}

export function modelsArgs(line: CommandLine): ModelsArgs {
  if (line.operands.length > 0) throw tooManyOperands('millrace models');
  const [json, refresh] = [hasFlag(line, 'json'), flagText(line, 'refresh')];
  if (json && refresh !== undefined) {
    throw new UsageError('--json lists models and --refresh stores a table. Use only one of them');
  }
  return { ...sharedArgs(line), command: 'models', json, refresh };
}

export function doctorArgs(line: CommandLine): DoctorArgs {
  if (line.operands.length > 0) throw tooManyOperands('millrace doctor');
  return { ...sharedArgs(line), command: 'doctor', json: hasFlag(line, 'json') };
}

export function backupArgs(line: CommandLine, command: BackupArgs['command']): BackupArgs {
  const [file, ...more] = line.operands;
  if (!file) throw new UsageError(`millrace ${command} needs a file: millrace ${command} <file>`);
  if (more.length > 0) throw tooManyOperands(`millrace ${command}`);
  const data = flagText(line, 'data');
  return { ...sharedArgs(line), command, file, data, replace: hasFlag(line, 'replace') };
}

function sessionOperand({ operands }: CommandLine, command: HelpTopic): string {
  const [session, ...more] = operands;
  if (!session) throw missingId(`millrace ${command}`);
  if (more.length > 0) throw tooManyOperands(`millrace ${command}`);
  return session;
}

function missingId(command: string): UsageError {
  const way = `${command} <id>, or ${command} last. millrace sessions lists them`;
  return new UsageError(`${command} needs a session id: ${way}`);
}

export function tooManyOperands(command: string): UsageError {
  const way = `See ${command.split(' ').slice(0, 2).join(' ')} --help`;
  return new UsageError(`${command} got too many arguments. ${way}`);
}

export function serveArgs(line: CommandLine): ServeArgs {
  if (line.operands.length > 0) {
    const way = 'Choose agents with --agents <file>. See millrace serve --help';
    throw new UsageError(`millrace serve got too many arguments. ${way}`);
  }
  const daemon = hasFlag(line, 'daemon');
  const idleMinutes = flagCount(line, 'idle');
  if (idleMinutes !== undefined && !daemon) throw new UsageError('--idle is for serve --daemon');
  if (daemon) checkDaemonFlags(line);
  return {
    command: 'serve',
    ...{ daemon, idleMinutes },
    cwd: flagText(line, 'cwd'),
    port: parsePort(line),
    host: flagText(line, 'host'),
    agents: flagText(line, 'agents'),
    data: flagText(line, 'data'),
    store: flagText(line, 'store'),
    bus: flagText(line, 'bus'),
    log: parseLogFormat(line),
    token: flagText(line, 'token'),
    noToken: hasFlag(line, 'no-token'),
    chain: hasFlag(line, 'chain'),
    agentNetworks: flagText(line, 'networks'),
    allowHosts: flagList(line, 'allow-host').map(checkedHost),
    origins: flagList(line, 'origin').map(checkedOrigin),
    basePath: parseBasePath(line),
    trustedProxies: flagList(line, 'proxies'),
    otlp: flagText(line, 'otlp'),
    yes: hasFlag(line, 'yes'),
  };
}

/** Throws if a flag is not for the daemon, which serves only the sessions of the terminal. */
function checkDaemonFlags(line: CommandLine): void {
  const others = ['agents', 'data', 'bus', 'yes', 'networks', 'chain'] as const;
  const misplaced = others.find((name) => hasFlag(line, name));
  if (misplaced === undefined) return;
  const way = 'The daemon drives each session as its terminal did';
  throw new UsageError(`--${misplaced} is not for serve --daemon. ${way}`, { flag: misplaced });
}

/**
 * Returns the values of a flag. The flag can be repeated, and each value can be a list with commas.
 */
function flagList({ flags }: CommandLine, name: FlagName): readonly string[] {
  const values = flags.flatMap((flag) => (flag.name === name ? (flag.value ?? '').split(',') : []));
  return values.map((value) => value.trim()).filter((value) => value !== '');
}

function checkedHost(host: string): string {
  if (/^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$/i.test(host)) return host;
  throw new UsageError('--allow-host takes names without scheme and port: agents.example.com');
}

function checkedOrigin(origin: string): string {
  if (/^https?:/.test(origin) && URL.canParse(origin) && new URL(origin).origin === origin)
    return origin;
  throw new UsageError(
    '--origin takes a scheme and a host, without a path: https://app.example.com',
  );
}

function parseBasePath(line: CommandLine): string | undefined {
  const path = flagText(line, 'base-path');
  if (path === undefined || /^(?:\/[\w.~-]+)*\/?$/.test(path)) return path;
  throw new UsageError('--base-path takes a path that starts with a slash: --base-path /agents');
}

const maxPort = 65_535;

function parsePort(line: CommandLine): number | undefined {
  const value = flagText(line, 'port');
  if (value === undefined) return undefined;
  const port = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  if (port <= maxPort) return port;
  throw new UsageError(`--port takes a number from 0 to ${maxPort}, such as --port 8080`);
}

function parseLogFormat(line: CommandLine): ServeArgs['log'] {
  const value = flagText(line, 'log') ?? 'text';
  if (value === 'text' || value === 'json') return value;
  throw new UsageError('--log takes text or json: --log json');
}
