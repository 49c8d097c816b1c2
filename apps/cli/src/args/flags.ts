import type { Flag, FlagOwner } from './flag.ts';

export type FlagName =
  | 'print'
  | 'at'
  | 'text'
  | 'instructions'
  | 'result'
  | 'rerun'
  | 'json'
  | 'csv'
  | 'sign'
  | 'head'
  | 'key'
  | 'parquet'
  | 'since'
  | 'stream'
  | 'output-schema'
  | 'verbose'
  | 'model'
  | 'continue'
  | 'resume'
  | 'cwd'
  | 'config'
  | 'store'
  | 'system'
  | 'max-turns'
  | 'max-tokens'
  | 'max-cost'
  | 'mode'
  | 'tools'
  | 'accept'
  | 'fail-under'
  | 'repeats'
  | 'concurrency'
  | 'retry-failed'
  | 'yes'
  | 'read-only'
  | 'allow'
  | 'deny'
  | 'sandbox'
  | 'web-search'
  | 'trust'
  | 'all'
  | 'output'
  | 'force'
  | 'speed'
  | 'refresh'
  | 'port'
  | 'host'
  | 'agents'
  | 'agent'
  | 'data'
  | 'replace'
  | 'bus'
  | 'log'
  | 'token'
  | 'no-token'
  | 'chain'
  | 'networks'
  | 'allow-host'
  | 'origin'
  | 'base-path'
  | 'proxies'
  | 'daemon'
  | 'idle'
  | 'write'
  | 'device'
  | 'for'
  | 'url'
  | 'otlp'
  | 'plain'
  | 'no-color'
  | 'help'
  | 'version';

const sessionCommands: readonly FlagOwner[] = [
  'run',
  'print',
  'sessions',
  'replay',
  'inspect',
  'diff',
  'branch',
  'test',
  'eval',
  'sql',
  'verify',
  'report',
  'models',
  'doctor',
  'backup',
  'restore',
  'init',
  'login',
  'logout',
  'plugins',
  'acp',
  'rpc',
  'mcp',
  'ps',
  'top',
  'attach',
  'share',
];
const allCommands: readonly FlagOwner[] = [...sessionCommands, 'serve'];
const agentRuns: readonly FlagOwner[] = ['run', 'print'];
const agents: readonly FlagOwner[] = [...agentRuns, 'branch', 'init', 'acp', 'rpc', 'mcp'];

/** All flags, in the order of the help text. A flag has the same meaning in all commands. */
const flags: Readonly<Record<FlagName, Flag>> = {
  print: {
    short: 'p',
    value: '[text]',
    owners: agentRuns,
    help: 'Print one answer and exit, for scripts. Piped input is the context, or the prompt if there is no text',
  },
  at: {
    value: '<record>',
    owners: ['branch'],
    help: 'The record to continue from. millrace diff and millrace inspect print the numbers of records',
  },
  text: {
    value: '<text>',
    owners: ['branch'],
    help: 'Another message. At a message, it replaces that message',
  },
  instructions: {
    value: '<text>',
    owners: ['branch'],
    help: 'Instructions that replace all instructions of the agent',
  },
  result: {
    value: '<call=text>',
    owners: ['branch'],
    help: 'Another result of a call of the turn, by the id of the call. Can be repeated',
  },
  rerun: {
    value: '<call>',
    owners: ['branch'],
    help: 'Run this call of the turn again: the name of a tool, or the id of a call. Can be repeated',
  },
  json: {
    owners: [
      'print',
      'branch',
      'sessions',
      'replay',
      'inspect',
      'diff',
      'test',
      'eval',
      'sql',
      'verify',
      'models',
      'doctor',
      'ps',
    ],
    help: 'Print JSON for programs',
    helpByOwner: {
      print: 'With -p: print all events as JSON, one per line',
      branch: 'Print all events as JSON, one per line',
    },
  },
  sign: {
    value: '<file>',
    owners: ['verify'],
    help: 'Sign the end of the chain with this private Ed25519 key (PEM), and print the signed head',
  },
  head: {
    value: '<file>',
    owners: ['verify'],
    help: 'A signed head that the chain must contain. Can be repeated. Needs --key',
  },
  key: {
    value: '<file>',
    owners: ['verify'],
    help: 'The public Ed25519 key of the signed heads (PEM)',
  },
  csv: { owners: ['sql'], help: 'Print comma-separated values' },
  parquet: {
    value: '<file>',
    owners: ['sql'],
    help: 'Write the rows to a new Parquet file, for DuckDB, pandas and the like',
  },
  since: {
    value: '<age>',
    owners: ['sql'],
    help: 'Only sessions that changed since then: 30m, 12h, 7d, 4w or a date such as 2026-01-31. Default: all sessions',
  },
  stream: {
    value: '<what>',
    owners: ['print'],
    help: 'With -p: "answer" prints the last message when the run is over, "all" prints everything that the model writes as it arrives. Default: answer',
  },
  'output-schema': {
    value: '<file>',
    owners: ['print'],
    help: 'With -p: print an object that matches this JSON schema, or fail',
  },
  verbose: { owners: ['print', 'branch'], help: 'With -p: print progress to standard error' },
  model: {
    short: 'm',
    value: '<name>',
    owners: agents,
    help: 'A model of your configuration, provider/model, or "demo"',
  },
  continue: { short: 'c', owners: agentRuns, help: 'Continue the last session of this folder' },
  resume: {
    short: 'r',
    value: '[id]',
    owners: agentRuns,
    help: 'Continue a session by its id or the start of it; without an id, choose from a list',
  },
  cwd: { value: '<dir>', owners: allCommands, help: 'Work in this folder' },
  config: {
    value: '<file>',
    owners: sessionCommands,
    help: 'Use this configuration file and no other',
  },
  store: {
    value: '<file>',
    valueByOwner: {
      serve: '<folder or url>',
      backup: '<file or url>',
      restore: '<file or url>',
    },
    owners: allCommands,
    help: 'Store the sessions in this file',
    helpByOwner: {
      backup: 'Back up this file of sessions, or the server in postgres://user@host/database',
      restore: 'Restore into this file of sessions, or into postgres://user@host/database',
      serve:
        'Store all data in this folder, or in postgres://user@host/database, which several servers can share. MILLRACE_SERVER_STORE does the same and stays out of the process list',
    },
  },
  system: { value: '<text>', owners: agents, help: 'Further instructions for the model' },
  'max-turns': { value: '<n>', owners: agents, help: 'Stop after this many requests' },
  'max-tokens': {
    value: '<n>',
    owners: agents,
    help: 'Stop after this many tokens, input and output',
  },
  'max-cost': {
    value: '<dollars>',
    owners: [...agents, 'eval'],
    help: 'Stop at this cost, such as 0.50. The price of the model must be known',
    helpByOwner: {
      eval: 'Start no further run at this cost of all runs and scores, such as 5.00',
    },
  },
  mode: {
    value: '<mode>',
    owners: [...agents, 'test'],
    help: 'Start in this mode: "plan" (only reads and proposes), "ask", "accept-edits" (changes files in the folder without asking) or "auto" (also runs commands in the sandbox without asking). Shift-Tab changes it. Default: ask',
    helpByOwner: {
      test: '"exact" (a recording fails at its first difference), "requests" (all differences of all recordings, grouped) or "live" (from the first difference on, the model of the agent answers). Default: requests',
    },
  },
  tools: {
    value: '<what>',
    owners: ['test'],
    help: 'With --mode live: "recorded" (tools return recorded results) or "real" (tools run). Default: recorded',
  },
  accept: {
    owners: ['test'],
    help: 'Write changed recordings again, with what the agent does today',
  },
  'fail-under': {
    value: '<limit>',
    owners: ['eval'],
    help: 'Exit with 1 if a mean score is lower: 0.8 for all scorers, correct=0.8 for one, brief:correct=0.8 for one variant. Can be repeated',
  },
  repeats: {
    value: '<n>',
    owners: ['eval'],
    help: 'How often each variant answers each case. Default: as the experiment says',
  },
  concurrency: {
    value: '<n>',
    owners: ['eval'],
    help: 'Number of runs at the same time, at most 64. Default: as the experiment says, or 4',
  },
  'retry-failed': { owners: ['eval'], help: 'Run again what failed in an earlier call' },
  yes: {
    short: 'y',
    owners: [...agents, 'sessions', 'serve', 'plugins', 'report'],
    help: 'Run every tool without asking, including commands and file changes, unless a rule denies it or a command leaves the sandbox',
    helpByOwner: {
      sessions: 'Delete without asking',
      report: 'Write without asking',
      plugins: 'Add without asking',
      serve:
        'Allow the agents of a server without --agents to change files and run programs. Default: they ask first',
    },
  },
  'read-only': {
    owners: agents,
    help: 'Offer only tools that read; no file is changed and no program is run',
  },
  allow: {
    value: '<rule>',
    owners: agents,
    help: 'Allow without asking: "bash:git status", "write:src/**"',
  },
  deny: {
    value: '<rule>',
    owners: agents,
    help: 'Never allow: "bash:git push", "*:.env". Overrides all other rules',
  },
  sandbox: {
    value: '<profile>',
    owners: agents,
    help: 'What commands may change: "workspace" (this folder), "read-only" (nothing) or "off" (everything). Default: workspace, if the system has a sandbox',
  },
  'web-search': {
    value: '<who>',
    owners: agents,
    help: 'The service that searches the web: "brave", "tavily" or "exa" (with a key in the environment), "hosted" (the provider of the model), "auto" (the first service with a key) or "off". Default: auto',
  },
  trust: {
    owners: agents,
    help: 'Trust the millrace.json, the hooks, skills, commands and other extensions of this folder, including programs that they start, until they change',
  },
  all: { short: 'a', owners: ['sessions'], help: 'Include the sessions of all folders' },
  output: {
    short: 'o',
    value: '<file>',
    owners: ['sessions', 'test', 'eval', 'report'],
    help: 'The file that export writes',
    helpByOwner: {
      eval: 'Also write a report to this file: .html for people, .xml for JUnit, .json for programs, .md for a pull request. Can be repeated',
      report: 'The file to write. Default: <id>.recording.jsonl in this folder',
      test: 'Also write a report to this file: .html for people, .xml for JUnit, .json for programs, .md for a pull request. Can be repeated',
    },
  },
  force: {
    owners: ['test', 'eval'],
    help: 'Replace existing files of -o. Default: an existing file is an error',
  },
  speed: { value: '<n>', owners: ['replay'], help: 'Speed factor; "max" shows everything at once' },
  port: {
    value: '<n>',
    owners: ['serve'],
    help: 'Port to listen on; 0 for any free one. Default: 5003',
  },
  refresh: {
    value: '<file>',
    owners: ['models'],
    help: "Use the limits and prices of this file from now on. It is LiteLLM's model_prices_and_context_window.json, or a table of models",
  },
  host: {
    value: '<name>',
    owners: ['serve'],
    help: 'Address to listen on. Default: 127.0.0.1. Other addresses require a token',
  },
  agents: {
    value: '<file>',
    owners: ['serve', 'test', 'sessions', 'report', 'branch'],
    help: 'Serve the agents that this module exports, instead of the coding agent and the demo',
    helpByOwner: {
      test: 'Test the agents that this module exports',
      sessions: 'With pin: the module that exports the agent of the session',
      report:
        'The module that exports the agent of the session. The report then also has the requests',
      branch:
        'The module that exports the agent of the session. Default: the coding agent of the terminal',
    },
  },
  agent: {
    value: '<name>',
    owners: ['test', 'sessions', 'report', 'branch'],
    help: 'Test this agent of the module. Default: the agent that the recording names',
    helpByOwner: {
      sessions: 'With pin: the agent of the session. Default: the only agent of the module',
      report: 'The agent of the session. Default: the only agent of the module',
      branch: 'The agent of the session. Default: the only agent of the module',
    },
  },
  data: {
    value: '<dir>',
    owners: ['serve', 'backup', 'restore'],
    help: 'Store sessions, tasks and keys in this folder',
    helpByOwner: {
      backup: 'Back up this folder of a server',
      restore: 'Restore into this folder of a server',
    },
  },
  replace: {
    owners: ['restore'],
    help: 'Delete the content of the store, and replace it with the backup',
  },
  bus: {
    value: '<url>',
    owners: ['serve'],
    help: 'Notify other servers of the same store through redis://host. MILLRACE_SERVER_BUS does the same',
  },
  log: {
    value: '<form>',
    owners: ['serve'],
    help: 'Format of the log of requests and failures: "text" or "json"',
  },
  token: {
    value: '<text>',
    owners: ['serve'],
    help: 'Require this token from clients. MILLRACE_TOKEN does the same and stays out of the process list. Default on 127.0.0.1: a random token',
  },
  'no-token': {
    owners: ['serve'],
    help: 'Require no token. Every user of this machine can then use the agents',
  },
  chain: {
    owners: ['serve'],
    help: 'Give each new session a hash chain, so that millrace verify can prove that no record was changed',
  },
  networks: {
    value: '<list>',
    owners: ['serve'],
    help: 'Where remote agents may be: loopback, private, public, 10.1.0.0/16. MILLRACE_AGENT_NETWORKS does the same',
  },
  'allow-host': {
    value: '<names>',
    owners: ['serve'],
    help: 'Answer also for these host names: agents.example.com. Default: localhost and IP addresses only',
  },
  origin: {
    value: '<urls>',
    owners: ['serve'],
    help: 'Let pages of these other origins call the server: https://app.example.com',
  },
  'base-path': {
    value: '<path>',
    owners: ['serve'],
    help: 'Serve everything below this path: /agents. A proxy must pass the path on unchanged',
  },
  proxies: {
    value: '<list>',
    owners: ['serve'],
    help: 'Trust X-Forwarded-For and X-Forwarded-Host of proxies at: loopback, private, 10.1.0.0/16. Default: no proxy',
  },
  daemon: {
    owners: ['serve'],
    help: 'Serve the sessions of the terminal, and drive those that /background leaves. --store is then their file',
  },
  idle: {
    value: '<minutes>',
    owners: ['serve'],
    help: 'With --daemon: end after this time without a run, an open question or a valid link',
  },
  write: {
    owners: ['share'],
    help: 'Let the link also send messages, answer questions and stop the run. Default: it can only read',
  },
  device: {
    owners: ['mcp'],
    help: 'With login: enter a code on another device, if this machine has no browser',
  },
  for: {
    value: '<time>',
    owners: ['share'],
    help: 'How long the link works: 30m, 4h or 7d. Default: 1h',
  },
  url: {
    value: '<url>',
    owners: ['share'],
    help: 'The address of the daemon for other machines, such as a proxy with TLS. Default: this machine',
  },
  otlp: {
    value: '<url>',
    owners: ['run', 'print', 'serve'],
    help: 'Send trace spans to this collector: http://localhost:4318',
  },
  plain: {
    owners: ['run', 'init', 'attach'],
    help: 'Print the chat as lines for a screen reader: nothing is drawn again, and questions are numbered',
  },
  'no-color': { owners: sessionCommands, help: 'Print no colours; NO_COLOR=1 does the same' },
  help: { short: 'h', owners: allCommands, help: 'Show the help' },
  version: { short: 'v', owners: allCommands, help: 'Show the version' },
};

export const flagNames: readonly FlagName[] = Object.keys(flags) as readonly FlagName[];

export function getFlag(name: FlagName): Flag {
  return flags[name];
}
