import type { HelpTopic } from '../contract/args.ts';
import type { FlagOwner } from './flag.ts';
import { type FlagName, flagNames, getFlag } from './flags.ts';

/** Returns the help page of a command. Without a command, returns the main page. */
export function helpText(topic?: HelpTopic): string {
  const { usage, about, flagOwners, examples, footer } = helpPage(topic);
  const own = flagNames.filter((name) =>
    getFlag(name).owners.some((owner) => flagOwners.includes(owner)),
  );
  const blocks = [
    `Usage:\n${usage.map((line) => `  ${line}`).join('\n')}`,
    wrap(about, pageWidth).join('\n'),
    `Examples:\n${examples.map(([command, what]) => `  ${command}\n      ${what}`).join('\n')}`,
    `Flags:\n${own.map((name) => flagLines(name, flagOwners)).join('\n')}`,
    ...(footer === undefined ? [] : [footer]),
  ];
  return `${blocks.join('\n\n')}\n`;
}

/** Returns a flag as the user types it: `-m, --model <name>`. */
export function flagSyntax(name: FlagName, owners: readonly FlagOwner[] = []): string {
  const { short, value: usual, valueByOwner = {} } = getFlag(name);
  const value =
    owners.map((owner) => valueByOwner[owner]).find((one) => one !== undefined) ?? usual;
  const head = `--${name}${value === undefined ? '' : ` ${value}`}`;
  return short === undefined ? head : `-${short}, ${head}`;
}

/** Returns the description of a flag for the given commands. */
export function flagHelp(name: FlagName, owners: readonly FlagOwner[]): string {
  const { help, helpByOwner = {} } = getFlag(name);
  return owners.map((owner) => helpByOwner[owner]).find((text) => text !== undefined) ?? help;
}

const pageWidth = 80;
const headWidth = 30;

function flagLines(name: FlagName, owners: readonly FlagOwner[]): string {
  const head = flagSyntax(name, owners);
  const text = wrap(flagHelp(name, owners), pageWidth - headWidth);
  const start = `  ${head.startsWith('--') ? '    ' : ''}${head}`.padEnd(headWidth);
  return `${start}${text.join(`\n${' '.repeat(headWidth)}`)}`;
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (longer.length > width) lines.push(line);
    line = longer.length > width ? word : longer;
  }
  return [...lines, line];
}

/** The content of one help page. */
interface HelpPage {
  readonly usage: readonly string[];
  readonly about: string;
  readonly flagOwners: readonly FlagOwner[];
  readonly examples: readonly (readonly [command: string, what: string])[];
  readonly footer?: string;
}

const mainPage: HelpPage = {
  usage: ['millrace [flags] [prompt]', 'millrace <command> [flags]'],
  about:
    'A coding agent for the terminal. Without -p it opens a chat in this folder; with -p it prints one answer.',
  flagOwners: ['run', 'print'],
  examples: [
    ['millrace', 'open the chat'],
    ['millrace "Why does the build fail?"', 'open the chat with a first message'],
    ['millrace -p "Name three risks" < plan.md', 'print one answer, with a file as context'],
    ['millrace -p --json "Fix the tests" --yes | jq .type', 'for scripts, without asking'],
    ['millrace --continue', 'continue the last session'],
    ['millrace --allow "bash:npm test" --deny "*:.env"', 'set permission rules in advance'],
  ],
  footer: `Commands:
  init      Let the agent write AGENTS.md, if the folder has none
  plugins   List, add and remove plugins
  sessions  List, show, delete, export, import and pin sessions
  replay    Show a past session with its timing
  inspect   Show the records of a session, its time and its tokens
  diff      Show where two sessions went different ways, and why
  branch    Continue a session from any record, with a change
  test      Run recorded sessions through your agents, and show what changed
  eval      Run an experiment: compare variants of an agent with scores
  sql       Ask questions about all sessions with SQL
  verify    Prove that a session is complete and unchanged
  report    Write a session without secrets into one file, for a bug report
  ps        List the sessions with work, and who drives them
  top       Watch the sessions with work: what each of them does now
  attach    Open a session that runs, also one in the background
  share     Print a link to a session, and a code to scan
  serve     Serve agents over HTTP, with streams that clients can resume
  acp       Run as an agent inside an editor, over standard input and output
  rpc       Run sessions for a program, over standard input and output
  mcp       Offer the agent and its tools to clients of MCP
  login     Log in to OpenRouter in the browser, and store its key
  logout    Delete the key of a login
  models    List the models with their limits and prices, or refresh them
  backup    Write all sessions, or all data of a server, into one file
  restore   Put the content of a backup in place of a store
  doctor    Check Node, keys, endpoints, store, terminal, sandbox and
            configuration
  help      Show the help of a command: millrace help sessions

Exit codes: 0 done, 1 error, 2 wrong usage, 3 aborted, 4 approval needed,
5 limit reached. Settings come from flags, then MILLRACE_MODEL and other
variables, then ./millrace.json, then your own config.json in
$XDG_CONFIG_HOME/millrace. AGENTS.md of the project is read as instructions.`,
};

const pages: Readonly<Record<HelpTopic, HelpPage>> = {
  init: {
    usage: ['millrace init [flags]'],
    about:
      'Lets the agent write AGENTS.md, the instructions for agents in this folder. In a terminal it opens the chat and asks before it writes. An existing file is not overwritten.',
    flagOwners: ['init'],
    examples: [['millrace init', 'look at the project and propose the file']],
  },
  acp: {
    usage: ['millrace acp [flags]'],
    about:
      'Speaks the Agent Client Protocol over standard input and output. An editor starts it and shows the sessions; you do not type it yourself. The sessions are the same as in the terminal: millrace --continue continues a session of the editor.',
    flagOwners: ['acp'],
    examples: [
      ['millrace acp', 'the command to enter in the settings of the editor'],
      ['millrace acp --mode plan', 'new sessions start in plan mode'],
    ],
  },
  rpc: {
    usage: ['millrace rpc [flags]'],
    about:
      'Runs sessions for a program in any language. The program writes one JSON-RPC request per line to standard input, and reads responses and events, one per line, from standard output. The sessions are the same as in the terminal: millrace --continue continues a session of the program.',
    flagOwners: ['rpc'],
    examples: [
      ['millrace rpc', 'the command that your program starts'],
      ['millrace rpc --mode plan', 'new sessions start in plan mode'],
    ],
  },
  mcp: {
    usage: [
      'millrace mcp [flags]',
      'millrace mcp login <server> [--device]',
      'millrace mcp logout <server>',
    ],
    about:
      'Speaks the Model Context Protocol over standard input and output. A client such as Claude Code, Cursor or VS Code starts it, and can call the agent and the tools of the folder. The sessions are the same as in the terminal. login and logout are for the other direction: they log in to an MCP server of your configuration, whose tools the agent then uses.',
    flagOwners: ['mcp'],
    examples: [
      ['millrace mcp', 'the command to enter in the settings of the client'],
      ['millrace mcp --cwd ~/project --mode plan', 'works in this folder, and only reads'],
      ['millrace mcp login tickets', 'logs in to the server "tickets" of your configuration'],
    ],
  },
  login: {
    usage: ['millrace login openrouter'],
    about:
      'Logs in to OpenRouter in the browser. OpenRouter then creates a key for this machine, which you can see and delete on its page of keys. The key is stored in keys.json beside your config.json, and only you can read it. If the browser is on another machine, paste the address to which it returns. millrace mcp login is for MCP servers.',
    flagOwners: ['login'],
    examples: [['millrace login openrouter', 'opens the page, tests the key and stores it']],
  },
  logout: {
    usage: ['millrace logout openrouter'],
    about:
      'Deletes the key of a login from this machine. OpenRouter keeps the key until you delete it on its page of keys.',
    flagOwners: ['logout'],
    examples: [['millrace logout openrouter', 'the next start asks for a model again']],
  },
  plugins: {
    usage: [
      'millrace plugins [list]',
      'millrace plugins add <folder or package> [--yes]',
      'millrace plugins remove <name>',
    ],
    about:
      'Manages plugins: folders or npm packages with skills, commands, agents, hooks.json and extensions, for all your projects. Adding a plugin copies its files and runs no script of it. A plugin whose files change is not used until you add it again.',
    flagOwners: ['plugins'],
    examples: [
      ['millrace plugins add ./my-plugin', 'show its files, and add it'],
      ['millrace plugins add @acme/millrace-plugin', 'the same for a package of npm'],
    ],
  },
  sessions: {
    usage: [
      'millrace sessions [list] [--all] [--json]',
      'millrace sessions show <id> [--json]',
      'millrace sessions delete <id>… [--yes]',
      'millrace sessions export <id>… [--output <file>]',
      'millrace sessions export <id>… <file.html|file.md|file.jsonl>',
      'millrace sessions import [file]…',
      'millrace sessions pin <id> [folder] --agents <file>',
    ],
    about:
      'Manages past sessions. The start of an id is enough; "last" is the last session of this folder.',
    flagOwners: ['sessions'],
    examples: [
      ['millrace sessions', 'list the sessions of this folder, newest first'],
      ['millrace sessions show last', 'print the transcript'],
      [
        'millrace sessions export last -o talk.jsonl',
        'write a file for import, here or on another machine',
      ],
      [
        'millrace sessions export last talk.html',
        'write a page that replays the session in any browser, without a server',
      ],
      ['millrace sessions export last talk.md', 'write the transcript for reading'],
      [
        'millrace sessions pin last recordings --agents agents.ts',
        'make it a recording for millrace test; known forms of keys are masked',
      ],
    ],
  },
  replay: {
    usage: ['millrace replay <id or file> [--speed <n>] [--json]'],
    about:
      'Shows a past session with its original timing, or faster. It also shows the file of a bug report. It runs no tool.',
    flagOwners: ['replay'],
    examples: [
      ['millrace replay last --speed 4', 'four times as fast'],
      ['millrace replay last --speed max --json', 'all its events at once, for programs'],
      ['millrace replay 3f2a.recording.jsonl', 'the file of a bug report'],
    ],
  },
  inspect: {
    usage: ['millrace inspect <id> [--json]'],
    about: 'Prints the records of a session, then a report of its time and tokens.',
    flagOwners: ['inspect'],
    examples: [['millrace inspect last | less', 'page through the last one']],
  },
  branch: {
    usage: ['millrace branch <id> --at <record> [--text | --model | --instructions | --result]'],
    about:
      'Continues a session from any record in a copy, with another message, model, instructions or tool result, and prints the answer. The session itself does not change. Recorded calls do not run again, except those of --rerun. Files of the folder stay as they are. For a session of your own program, name the module of its agent with --agents. millrace diff compares the copy with the session.',
    flagOwners: ['branch'],
    examples: [
      ['millrace branch last --at 41 --text "Use the second file"', 'another message'],
      ['millrace branch 3f2a --at 41 --model openai/gpt-5', 'another model'],
      ['millrace branch 3f2a --at 41 --result call_1="not found"', 'another result of a call'],
      [
        'millrace branch trip --at 41 --rerun search_flights --agents agents.ts --store sessions.db',
        'a session of your own program',
      ],
    ],
  },
  diff: {
    usage: ['millrace diff <id> [id] [--json]'],
    about:
      'Compares two sessions, or a fork with its origin. It prints the first record at which they differ and its cause: another request, answer, tool result, command or setting. Then it prints the differences after it, and the time, tokens and costs side by side.',
    flagOwners: ['diff'],
    examples: [
      ['millrace diff 3f2a last', 'a session and the last one of this folder'],
      ['millrace diff last', 'a fork and the session that it was forked from'],
      ['millrace diff 3f2a 9c1b --json | jq .divergence', 'for scripts'],
    ],
  },
  test: {
    usage: ['millrace test [folder, file or id]… --agents <file> [flags]'],
    about:
      'Runs recorded sessions through the agents of a module, and compares what they do and what they would send with the recording. Answers, tool results, people, clock and ids come from the recording. Without --mode live, no tool runs and no request is sent. The default folder is recordings. The exit code is 1 if something changed.',
    flagOwners: ['test'],
    examples: [
      ['millrace test --agents agents.ts', 'all recordings in the folder recordings'],
      ['millrace test --agents agents.ts --accept', 'accept what changed'],
      ['millrace test --agents agents.ts -o report.html -o junit.xml', 'write reports'],
      ['millrace test last --agents agents.ts --mode live', 'let the model answer again'],
    ],
  },
  eval: {
    usage: ['millrace eval <file> [flags]'],
    about:
      'Runs the experiment that a module exports: each variant of an agent answers each case, and scorers score the answers. All runs, votes of judges and results are sessions of the store. After a crash or Ctrl-C, the same command continues and pays nothing twice. The exit code is 1 if a score is below --fail-under, or if runs are missing.',
    flagOwners: ['eval'],
    examples: [
      ['millrace eval refunds.ts', 'run or continue the experiment'],
      ['millrace eval refunds.ts --fail-under correct=0.9 -o junit.xml', 'a gate for CI'],
      ['millrace eval refunds.ts --repeats 5 --max-cost 2.00', 'more repeats, with a limit'],
    ],
  },
  sql: {
    usage: ['millrace sql', 'millrace sql <query> [--json | --csv | --parquet <file>]'],
    about:
      'Answers a SQL query (SQLite) about the sessions of the store: runs, turns, requests, tokens, costs, calls, approvals, errors and texts. Without a query, it prints the tables and their columns. It reads the query from standard input if the query is "-". It changes nothing.',
    flagOwners: ['sql'],
    examples: [
      ['millrace sql "SELECT model, sum(cost) FROM attempts GROUP BY model"', 'costs by model'],
      ['millrace sql "SELECT * FROM calls WHERE turn > 9" --since 7d --csv', 'for a spreadsheet'],
    ],
  },
  verify: {
    usage: [
      'millrace verify <id or file>… [--head <file> --key <file>] [--json]',
      'millrace verify <id> --sign <file> > head.json',
    ],
    about:
      'Checks the hash chain of sessions, or of exported files (./talk, talk.jsonl): no record was changed, removed, doubled or moved. It prints what redactions, settling and imports took out. Sessions have a chain if the setting "chain" was on. Give a signed head to somebody else: only with a signed head, you detect that somebody computed the whole chain again. The exit code is 1 if something is wrong.',
    flagOwners: ['verify'],
    examples: [
      ['openssl genpkey -algorithm ed25519 -out key.pem', 'make a key'],
      ['openssl pkey -in key.pem -pubout -out key.pub', 'write its public key'],
      ['millrace verify last --sign key.pem > head.json', 'sign the session'],
      [
        'millrace verify last --head head.json --key key.pub',
        'compare it with the signature later',
      ],
    ],
  },
  report: {
    usage: ['millrace report <id> [-o <file>] [--agents <file>] [--yes]'],
    about:
      'Writes one file with the records of a session, for a bug report. Known forms of keys, and secrets of your environment, are masked. The command lists what it masks, and asks before it writes. millrace replay shows the file on any machine. With --agents, the file also has the requests, and millrace test runs it through the agents.',
    flagOwners: ['report'],
    examples: [
      ['millrace report last', 'the last session of this folder'],
      ['millrace replay 3f2a.recording.jsonl', 'what the reader of the report does'],
      ['millrace report 3f2a --agents agents.ts', 'with the requests of your own agent'],
    ],
  },
  models: {
    usage: ['millrace models [--json]', 'millrace models --refresh <file>'],
    about:
      'Lists the models that can be used now, with their limits and prices. The table of models is part of millrace; it fetches nothing. --refresh stores a newer table in your settings.',
    flagOwners: ['models'],
    examples: [
      ['millrace models', 'what the models can take, and what they cost'],
      ['millrace models --refresh model_prices_and_context_window.json', "LiteLLM's newest list"],
    ],
  },
  doctor: {
    usage: ['millrace doctor [--json]'],
    about: 'Checks what millrace needs and explains how to fix problems. It prints no keys.',
    flagOwners: ['doctor'],
    examples: [['millrace doctor', 'find out why something does not work']],
  },
  backup: {
    usage: ['millrace backup <file> [--store <file or url> | --data <dir>]'],
    about:
      'Writes sessions and blobs as of one moment into one file. With --data, or a Postgres URL in --store, it backs up a server, with its tasks and other rows. Chats and servers continue meanwhile. The file can be read by you only; it contains everything that was said.',
    flagOwners: ['backup'],
    examples: [
      ['millrace backup monday.db', 'your own sessions'],
      ['millrace backup monday.db --data /var/lib/millrace', 'a server with its tasks'],
      ['millrace backup monday.db --store postgres://db/app', 'servers on Postgres'],
    ],
  },
  restore: {
    usage: ['millrace restore <file> [--store <file or url> | --data <dir>] [--replace]'],
    about:
      'Checks a backup and puts its content in the place of a store. Stop the chats and servers that use the store first; servers on Postgres can continue. The log gets a new incarnation, so that clients read it again.',
    flagOwners: ['restore'],
    examples: [
      ['millrace restore monday.db', 'into an empty store'],
      ['millrace restore monday.db --data /var/lib/millrace --replace', 'instead of what is there'],
    ],
  },
  ps: {
    usage: ['millrace ps [--json]'],
    about:
      'Lists the sessions with work: their state, the process that drives them, and since when.',
    flagOwners: ['ps'],
    examples: [['millrace ps', 'what runs now, and what waits for you']],
  },
  top: {
    usage: ['millrace top'],
    about:
      'Shows the sessions with work on the whole screen, and what each of them does now: its activity, time, turn, tokens and cost. It changes every second, until you press q. Without a terminal, it prints the list once.',
    flagOwners: ['top'],
    examples: [['millrace top', 'watch all sessions']],
  },
  attach: {
    usage: ['millrace attach [id]'],
    about:
      'Opens a session in the chat, in its own folder. If the daemon drives it, this terminal takes it over. If another terminal drives it, you follow it and can steer it. Without an id, it opens the session with work that changed last.',
    flagOwners: ['attach'],
    examples: [['millrace attach', 'continue what /background left']],
  },
  share: {
    usage: ['millrace share [id] [--write] [--for <time>] [--url <url>]'],
    about:
      'Prints a link to one session on the page of the daemon, and a code to scan. The daemon starts if it does not run. The link gives access to this session only, and expires.',
    flagOwners: ['share'],
    examples: [
      ['millrace share', 'watch the session that runs, for an hour'],
      ['millrace share last --write --for 1d', 'also answer its questions'],
      ['millrace share --url https://laptop.example.com', 'through a proxy, for a phone'],
    ],
  },
  serve: {
    usage: [
      'millrace serve [--port <n>] [--host <name>] [--agents <file>] [--data <dir>]',
      'millrace serve --store postgres://… [--bus redis://…]',
      'millrace serve --daemon [--idle <minutes>] [--port <n>]',
    ],
    about:
      'Serves agents over HTTP: tasks, messages, events, and streams that clients can resume. Without --agents it serves the coding agent as "coder" if there is a model, and two agents that need none: "demo" and "echo". All sessions are stored. Ctrl-C stops the server.',
    flagOwners: ['serve'],
    examples: [
      ['millrace serve', 'the demo, on http://127.0.0.1:5003'],
      ['millrace serve --agents agents.ts', 'your own agents, exported by a file'],
      ['millrace serve --host 0.0.0.0 --log json', 'reachable for others, with MILLRACE_TOKEN set'],
      ['millrace serve --store postgres://db/app --bus redis://r', 'one of several servers'],
      ['millrace serve --daemon', 'the sessions of your terminal, on a page'],
    ],
    footer: `The module exports agents: { type: 'sync', name, onMessage },
{ type: 'async', name, onEvent }, or ({ log }) => createAgent({ log, … }).`,
  },
};

function helpPage(topic: HelpTopic | undefined): HelpPage {
  return topic === undefined ? mainPage : pages[topic];
}
