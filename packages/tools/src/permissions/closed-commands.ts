import { type OptionTable, type ParsedOptions, parseOptions } from './read-only/parse-options.ts';
import { parseReadOnlyCommand } from './read-only/read-only-command.ts';
import { readOnlyGitCommands } from './read-only/read-only-programs.ts';
import { isLauncher, type Word } from './split-command.ts';

/**
 * A command, such as `npm test` or `git log`, for which a prefix rule covers only known arguments. Unknown
 * arguments could write any file or load any code.
 */
interface ClosedCommand extends OptionTable {
  /**
   * The allowed operands, which are the words that are not options. `inside`: names or paths inside the
   * folder. `remote`: a remote of the repository, and names of branches. Default: `inside`.
   */
  readonly operands?: 'inside' | 'remote' | 'none' | readonly string[] | undefined;
  /**
   * The options whose value can be any text, such as a message or a pattern. The values of all other options
   * are names or paths.
   */
  readonly textOptions?: readonly string[] | undefined;
  /** True if more options of the same list may follow `--`, as in `npm test -- -t name`. */
  readonly passesOn?: boolean | undefined;
  /** True if long options have one dash, as in `go test -run=Name`. The parser adds a second dash. */
  readonly hasSingleDash?: boolean | undefined;
}

const words = (text: string): readonly string[] => text.split(/\s+/);

/** The options of a script. They do not include `-g`, because npm itself has a different option `-g`. */
const script: ClosedCommand = {
  ...{ letters: 's', valued: 'tk', passesOn: true },
  long: words('silent run bail verbose coverage no-coverage watch=false'),
  longValued: words('grep testNamePattern test-name-pattern'),
  textOptions: words('t k grep testNamePattern test-name-pattern'),
};
const vitestOrJest: ClosedCommand = {
  ...{ letters: 'i', valued: 't' },
  long: words('run bail verbose coverage no-coverage silent ci passWithNoTests runInBand'),
  longValued: words('testNamePattern project'),
  textOptions: words('t testNamePattern'),
};
const mocha: ClosedCommand = {
  ...{ letters: 'bi', valued: 'gf', long: words('bail invert'), longValued: words('grep fgrep') },
  textOptions: words('g f grep fgrep'),
};
const pytest: ClosedCommand = {
  ...{ letters: 'vsxq', valued: 'k', long: words('verbose quiet'), textOptions: ['k'] },
  longValued: words('maxfail tb'),
};
const tsc: ClosedCommand = {
  ...{ letters: 'b', valued: 'p' },
  long: words('noEmit build pretty strict skipLibCheck incremental version'),
  longValued: ['project'],
};
const eslint: ClosedCommand = { long: words('fix quiet cache no-color max-warnings=0 color') };
const prettier: ClosedCommand = {
  letters: 'cwlu',
  long: words('check write list-different ignore-unknown'),
};
const biome: ClosedCommand = {
  operands: 'inside',
  long: words('write fix unsafe error-on-warnings'),
};
const cargo: ClosedCommand = {
  ...{ letters: 'qvr', valued: 'pj', passesOn: true },
  long: words(`all workspace release lib bins tests examples benches all-targets all-features
    no-default-features quiet verbose locked offline frozen no-run no-fail-fast no-deps check
    nocapture ignored include-ignored exact`),
  longValued: words('package exclude features test bin example bench jobs test-threads'),
};
const go: ClosedCommand = {
  hasSingleDash: true,
  long: words('v race short cover failfast json n x a'),
  longValued: words('run skip count timeout bench benchtime parallel cpu tags'),
  textOptions: words('run skip bench'),
};
const makeTargets = words('test tests check lint build all fmt format');
const make: ClosedCommand = {
  ...{ letters: 'skBij0123456789', operands: makeTargets },
  long: words('silent keep-going always-make'),
};

/**
 * The git commands that use a remote. They accept only the listed options, because other options can run a
 * program. They accept only the name of a remote, because an address can be a folder whose hooks git runs. A
 * user cannot grant rules for these commands in the chat.
 */
const remoteCommands: ReadonlyMap<string, ClosedCommand> = new Map([
  [
    'git push',
    {
      ...{ operands: 'remote', words: words('-u -v -q -n -f -d -uf -fu') },
      long: words(`set-upstream tags follow-tags dry-run force force-with-lease force-if-includes all
        delete prune atomic no-verify porcelain progress verbose quiet`),
    },
  ],
  [
    'git fetch',
    {
      ...{ operands: 'remote', words: words('-a -p -P -t -v -q -n -f -ap -pt -tp -tf') },
      longValued: words('depth deepen jobs'),
      long: words(`all prune prune-tags tags no-tags unshallow dry-run force verbose quiet progress
        no-recurse-submodules`),
    },
  ],
  [
    'git pull',
    {
      ...{ operands: 'remote', words: words('-r -v -q -n -f'), longValued: ['depth'] },
      long: words(`rebase no-rebase ff ff-only no-ff all prune tags autostash no-autostash verbose quiet
        no-edit squash no-recurse-submodules`),
    },
  ],
]);

/** The project commands by their first words. A user can grant a rule for each of them in the chat. */
const projectCommands: ReadonlyMap<string, ClosedCommand> = new Map([
  [
    'git add',
    {
      words: words('-A -u -v -n -N -Av -An'),
      long: words('all update verbose dry-run intent-to-add'),
    },
  ],
  [
    'git commit',
    {
      ...{ words: words('-a -q -v -s -as -sa'), textOptions: ['m', 'message'] },
      ...{ valuedWords: words('-m -am -qm -sm -asm -sam -aqm -qam'), longValued: ['message'] },
      long: words('all amend no-edit quiet verbose signoff allow-empty'),
    },
  ],
  ...['npm', 'pnpm', 'yarn', 'bun'].map((name) => [`${name} test`, script] as const),
  ['npm t', script],
  ['pnpm t', script],
  ...['build', 'check', 'test', 'clippy', 'fmt', 'doc', 'bench'].map(
    (name) => [`cargo ${name}`, cargo] as const,
  ),
  ...['build', 'test', 'vet'].map((name) => [`go ${name}`, go] as const),
  ...makeTargets.map((name) => [`make ${name}`, make] as const),
  ...['', 'npx '].flatMap((by) => [
    [`${by}tsc`, tsc] as const,
    [`${by}eslint`, eslint] as const,
    [`${by}prettier`, prettier] as const,
    [`${by}vitest`, vitestOrJest] as const,
    [`${by}jest`, vitestOrJest] as const,
    [`${by}mocha`, mocha] as const,
    ...['check', 'lint', 'format'].map((name) => [`${by}biome ${name}`, biome] as const),
  ]),
  ['pytest', pytest],
]);

/**
 * Returns the first words of a command for which a user can grant a rule. Returns undefined if a rule can
 * cover only the complete line.
 */
export function closedPrefix(given: readonly string[]): readonly string[] | undefined {
  const found = lookUp(given);
  if (found?.command === undefined || found.command.operands === 'remote') return undefined;
  return given.slice(0, found.length);
}

interface FoundCommand {
  /** The number of words in the name of the command. */
  readonly length: number;
  /** The command. Undefined for a git command that only reads, because such a command needs no rule. */
  readonly command: ClosedCommand | undefined;
}

/** Matches programs that can run any file. `yarn run` and `bun run` also start programs of the system. */
const interpreters =
  /^(?:node|nodejs|deno|bun|bunx|npx|tsx|ts-node|perl|php|lua|(?:python|ruby)[\d.]*)$/;

const scriptRunners: ReadonlySet<string> = new Set(['npm', 'pnpm', 'yarn', 'bun']);

function lookUp(given: readonly string[]): FoundCommand | undefined {
  const [program = '', verb = '', name = ''] = given;
  for (const length of [3, 2, 1]) {
    const name = given.slice(0, length).join(' ');
    const command = projectCommands.get(name) ?? remoteCommands.get(name);
    if (command !== undefined && given.length >= length) return { length, command };
  }
  const isScript = /^\w[\w:.-]*$/.test(name) && !interpreters.test(name) && !isLauncher([name]);
  if (scriptRunners.has(program) && verb === 'run' && isScript)
    return { length: 3, command: script };
  const isReader = program === 'git' && readOnlyGitCommands.has(verb);
  return isReader ? { length: 2, command: undefined } : undefined;
}

/** The paths in the arguments of a command. The caller checks these paths. */
export type CoveredPaths = readonly string[];

/**
 * Returns the paths in the arguments of a command. Returns undefined if the prefix rule does not cover one of
 * the arguments. `ruleWords` are the words of the rule, and `given` is the complete command. With
 * `isGranted`, the user granted the rule in the chat, and it covers only arguments that this file lists.
 */
export function coveredPaths(
  ruleWords: readonly string[],
  given: readonly Word[],
  isGranted: boolean,
): CoveredPaths | undefined {
  const found = lookUp(ruleWords);
  const rest = given.slice(ruleWords.length);
  if (found === undefined || (isGranted && found.command?.operands === 'remote'))
    return isGranted && rest.length > 0 ? undefined : [];
  if (!rest.every(isNeverOption)) return undefined;
  if (found.command === undefined) return readPathsOf(given);
  return pathsOfArguments(
    rest.map(({ text }) => text),
    found.command,
  );
}

/**
 * Returns the name of the remote in a command such as `git push origin`, if the words of the rule name no
 * remote. The caller checks that the repository has this remote.
 */
export function namedRemote(
  ruleWords: readonly string[],
  given: readonly Word[],
): string | undefined {
  const found = lookUp(ruleWords);
  if (found?.command?.operands !== 'remote' || ruleWords.length > found.length) return undefined;
  const rest = given.slice(found.length).map(({ text }) => text);
  return parseOptions(rest, found.command)?.operands[0];
}

function readPathsOf(given: readonly Word[]): CoveredPaths | undefined {
  const read = parseReadOnlyCommand(given.map(({ text }) => ({ text, isPlain: true })));
  return read?.paths.map(({ path }) => path);
}

/**
 * True if the shell cannot expand a word to an option or to a path outside the folder. It accepts wildcards
 * after a plain folder, as in `src/*.ts`. It refuses `*.ts`, because a file could have the name `--force.ts`.
 */
function isNeverOption({ text, isPlain }: Word): boolean {
  return (
    isPlain ||
    /^(?:\w[\w.@+,-]*\/)*\w[\w.@+,*?-]*$|^(?:\w[\w.@+,-]*\/)+[*?][\w.@+,*?-]*$/.test(text)
  );
}

function pathsOfArguments(
  given: readonly string[],
  command: ClosedCommand,
): CoveredPaths | undefined {
  const { operands = 'inside', textOptions = [], passesOn = false } = command;
  const separator = passesOn ? given.indexOf('--') : -1;
  const own = given.filter((_, at) => at !== separator);
  const parsed = parseWords(own, command);
  if (parsed === undefined || parsed.values.some(mayBeOption)) return undefined;
  const values = parsed.values.filter(({ name }) => !textOptions.includes(name));
  const paths = [...parsed.operands, ...values.map(({ value }) => value)];
  const isKnown = (operand: string) =>
    operands === 'inside' ||
    operands === 'remote' ||
    (operands !== 'none' && operands.includes(operand));
  if (!parsed.operands.every(isKnown) || !paths.every(isInsideText)) return undefined;
  return operands === 'remote' ? [] : paths;
}

/**
 * True if a program may read the value of an option as an option of its own. For many programs, `-t` has no
 * value. Such a program reads `-t --config=x` as the two options `-t` and `--config=x`, and reads `-tc x` as
 * the two options `-t` and `-c`.
 */
function mayBeOption({ value, place }: ParsedOptions['values'][number]): boolean {
  if (place === 'letter') return !/^\d+$/.test(value);
  return place === 'next' && value.startsWith('-');
}

function parseWords(given: readonly string[], command: ClosedCommand): ParsedOptions | undefined {
  const { long = [], hasSingleDash = false } = command;
  const plain = hasSingleDash ? given.map((word) => word.replace(/^-(?=[a-z])/, '--')) : given;
  // An entry such as `watch=false` in the list accepts exactly this value.
  const fixed = long.filter((name) => name.includes('=')).map((name) => `--${name}`);
  return parseOptions(
    plain.filter((word) => !fixed.includes(word)),
    { ...command, long: long.filter((name) => !name.includes('=')) },
  );
}

/** True if a word cannot be a path outside the folder, an assignment or a hidden option. */
function isInsideText(text: string): boolean {
  return !/^[-/~@]|=|(?:^|\/)\.\.(?:\/|$)/.test(text) && !text.includes('://');
}
