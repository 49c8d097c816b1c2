import type { HelpTopic } from '../contract/args.ts';
import { type FlagName, type FlagOwner, flagNames, getFlag } from './flags.ts';

/** Returns the help page of a command, or the main page. */
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
export function flagSyntax(name: FlagName): string {
  const { short, value } = getFlag(name);
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
  const head = flagSyntax(name);
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
export interface HelpPage {
  readonly usage: readonly string[];
  readonly about: string;
  readonly flagOwners: readonly FlagOwner[];
  readonly examples: readonly (readonly [command: string, what: string])[];
  readonly footer?: string;
}

const mainPage: HelpPage = {
  usage: ['millrace [flags] [prompt]', 'millrace <command> [flags]'],
  about:
    'A coding agent for the terminal. Without -p it opens a chat in this folder; with -p it answers once.',
  flagOwners: ['run', 'print'],
  examples: [
    ['millrace', 'open the chat'],
    ['millrace "Why does the build fail?"', 'open it with something to say'],
    ['millrace -p "Name three risks" < plan.md', 'answer once, with a file as context'],
    ['millrace -p --json "Fix the tests" --yes | jq .type', 'for scripts, without asking'],
    ['millrace --continue', 'go on where you stopped'],
    ['millrace --allow "bash:npm test" --deny "*:.env"', 'decide before it is asked'],
  ],
  footer: `Commands:
  sessions  List, show, delete, export and import sessions
  replay    Show a session again as it happened
  inspect   Show the records of a session, and where time and tokens went
  serve     Serve agents over HTTP, with streams that can be left and rejoined
  doctor    Check Node, keys, endpoints, store, terminal and configuration
  help      Say how a command is used: millrace help sessions

It ends with 0 done, 1 error, 2 wrong usage, 3 aborted, 4 an approval is
needed, 5 a limit was reached. Settings come from flags, then MILLRACE_MODEL
and the like, then ./millrace.json, then your own config.json in
$XDG_CONFIG_HOME/millrace. AGENTS.md of the project is read as instructions.`,
};

const pages: Readonly<Record<HelpTopic, HelpPage>> = {
  sessions: {
    usage: [
      'millrace sessions [list] [--all] [--json]',
      'millrace sessions show <id> [--json]',
      'millrace sessions delete <id>… [--yes]',
      'millrace sessions export <id>… [--output <file>]',
      'millrace sessions import [file]…',
    ],
    about:
      'What was said before. An id may be shortened to how it begins; "last" is the last of this folder.',
    flagOwners: ['sessions'],
    examples: [
      ['millrace sessions', 'those of this folder, the newest first'],
      ['millrace sessions show last', 'print the transcript'],
      [
        'millrace sessions export last -o talk.jsonl',
        'a file that import takes, here or elsewhere',
      ],
    ],
  },
  replay: {
    usage: ['millrace replay <id> [--speed <n>] [--json]'],
    about: 'Shows a session again as it happened, in its own time or faster. Nothing is run.',
    flagOwners: ['replay'],
    examples: [
      ['millrace replay last --speed 4', 'four times as fast'],
      ['millrace replay last --speed max --json', 'all its events at once, for programs'],
    ],
  },
  inspect: {
    usage: ['millrace inspect <id> [--json]'],
    about: 'Prints the records of a session, then where its time and tokens went.',
    flagOwners: ['inspect'],
    examples: [['millrace inspect last | less', 'page through the last one']],
  },
  doctor: {
    usage: ['millrace doctor [--json]'],
    about:
      'Checks what millrace needs and says what to do about what is missing. No key is printed.',
    flagOwners: ['doctor'],
    examples: [['millrace doctor', 'run it when something does not work']],
  },
  serve: {
    usage: [
      'millrace serve [--port <n>] [--host <name>] [--agents <file>] [--data <dir>]',
      'millrace serve --store postgres://… [--bus redis://…]',
    ],
    about:
      'Serves agents over HTTP: tasks, messages, events, and streams that anyone can leave and rejoin. Without --agents there are two to try, which need no key: "demo" and "echo". What is said is kept; Ctrl-C ends it.',
    flagOwners: ['serve'],
    examples: [
      ['millrace serve', 'the demo, on http://127.0.0.1:5003'],
      ['millrace serve --agents agents.ts', 'your own: the file exports them'],
      ['millrace serve --host 0.0.0.0 --log json', 'for others, with MILLRACE_TOKEN set'],
      [
        'millrace serve --store postgres://db/app --bus redis://r',
        'one of several, on any machine',
      ],
    ],
    footer: `The module exports agents: { type: 'sync', name, onMessage },
{ type: 'async', name, onEvent }, or ({ log }) => createAgent({ log, … }).`,
  },
};

export function helpPage(topic: HelpTopic | undefined): HelpPage {
  return topic === undefined ? mainPage : pages[topic];
}
