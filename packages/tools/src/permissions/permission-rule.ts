import { AgentError, type Approval } from '@millrace/agent';
import {
  alternativesOf,
  compileGlob,
  globProblem,
  hasPlainBar,
} from '../workspace/globs/compile-glob.ts';
import {
  entryMatcher,
  hasExactExclusions,
  type LexicalPath,
  type NameTest,
  pathMatcher,
} from '../workspace/match-path.ts';
import { recent } from '../workspace/real-form.ts';
import { linkedGlobs, plainGlob } from '../workspace/real-globs.ts';
import { splitCommand } from './split-command.ts';
import { coveredUse, coversKind, type ToolKind } from './tool-kinds.ts';

/** A rule that decides about certain tool calls. It matches a call if all of its fields match. */
export interface PermissionRule {
  /**
   * A tool name or a glob of names, for example `github__*`. With `path`, a rule for `read`, `write` or `edit` that
   * asks or denies covers all tools that read files, or all tools that change files. Default: any tool.
   */
  readonly tool?: string | undefined;
  /**
   * A glob of paths, relative to the root or absolute, such as `src/**` or `/etc/**`. A glob without a
   * slash, such as `.env`, matches names in any folder. The rule applies to tools that take a path.
   */
  readonly path?: string | undefined;
  /** The first words of a command, such as `git status`. The rule applies to tools that run commands. */
  readonly command?: string | undefined;
  /**
   * A host name, such as `docs.rs`. `*.example.com` matches all names below `example.com`. The rule applies to
   * tools that fetch pages.
   */
  readonly host?: string | undefined;
  /**
   * True if `path` is one path and not a glob, and `command` is one complete line and not only its beginning.
   * Default: false.
   */
  readonly exact?: boolean | undefined;
  readonly decision: Approval;
  /**
   * True if other rules have precedence over this rule. The rule then does not apply to calls for which a
   * different rule asks, or to files inside `.git`. It is used for broad approvals. Default: false.
   */
  readonly yields?: boolean | undefined;
  /** The reason for the rule. The model or the user sees it. */
  readonly reason?: string | undefined;
}

/** A rule that is prepared for fast matching. */
export interface CompiledRule {
  readonly rule: PermissionRule;
  readonly isRemembered: boolean;
  /** True if the rule counts only for commands that may change the path. Default: false. */
  readonly isForWrites?: boolean | undefined;
  matchesTool(name: string): boolean;
  /** The subject of the rule: paths, commands, hosts, or all calls of the tool. */
  readonly about: 'path' | 'command' | 'host' | 'tool';
  matchesPath(path: LexicalPath): boolean;
  /** Tests of the names in a folder, for a rule that asks or denies. See `entryMatcher`. */
  testsIn(folder: LexicalPath): readonly NameTest[];
  /**
   * The globs of a rule that asks or denies: its path, and absolute globs for the real paths behind links in it.
   * Empty for all other rules.
   */
  globs(): readonly RuleGlob[];
  /** The links of the path, if the rule asks or denies and its path leads through links in the root. */
  links(): readonly string[];
  /** True if the rule may cover more real paths, because there are too many folders and links to follow. */
  mayCoverMore(): boolean;
  matchesHost(host: string): boolean;
  /** The words with which a command must begin. */
  readonly words: readonly string[];
}

/** One form of the path of a rule. */
interface RuleGlob {
  readonly glob: string;
  /** See `PermissionRule.exact`. */
  readonly exact: boolean;
}

/**
 * Prepares a rule. Relative paths in it start at the root, which must be a real path. Throws if the rule cannot
 * have the intended effect.
 */
export function compileRule(
  rule: PermissionRule,
  isRemembered: boolean,
  root: string,
): CompiledRule {
  const { tool = '*', path, command, host, exact = false, decision } = rule;
  if (!['allow', 'ask', 'deny'].includes(decision))
    throw invalidRuleError(rule, 'its decision must be allow, ask or deny');
  if (tool === '') throw invalidRuleError(rule, 'its tool name is empty');
  if (/^!(?!\()/.test(tool)) throw invalidRuleError(rule, 'its tool name is not a valid glob');
  if (path !== undefined && command !== undefined) {
    throw invalidRuleError(rule, 'it has a path and a command, and no tool takes both');
  }
  if (host !== undefined && (path !== undefined || command !== undefined)) {
    throw invalidRuleError(rule, 'it has a host and a path or a command, and no tool takes both');
  }
  const plainHost = host === undefined ? undefined : plainHostOf(host);
  if (host !== undefined && plainHost === undefined)
    throw invalidRuleError(rule, 'its host is not a host name, such as docs.rs or *.example.com');
  if (exact && path === undefined && command === undefined) {
    throw invalidRuleError(rule, 'exact needs a path or a command');
  }
  if (path === '' || path?.startsWith('!'))
    throw invalidRuleError(rule, 'its path is not a valid glob');
  // The policy compares paths without such parts, so the rule would never apply.
  if (decision !== 'allow' && path?.split('/').includes('..'))
    throw invalidRuleError(rule, 'its path contains "..". Write the absolute path');
  const [, first, unknown = first] = shellPath.exec(path ?? '') ?? [];
  if (decision !== 'allow' && unknown !== undefined)
    throw invalidRuleError(
      rule,
      `nothing replaces "${unknown}" in its path. Write the absolute path`,
    );
  if (decision !== 'allow' && !exact && path !== undefined && alternativesOf(path) === undefined)
    throw invalidRuleError(rule, 'a group or a set in its path has slashes. Write a rule for each');
  if (decision !== 'allow' && !exact && path !== undefined && !hasExactExclusions(path))
    throw invalidRuleError(rule, 'only plain text can stand beside a group with ! in a name');
  const problem = globProblem(tool) ?? (exact ? undefined : globProblem(path ?? ''));
  if (problem !== undefined) throw invalidRuleError(rule, problem);
  if (decision !== 'allow' && [tool, exact ? '' : (path ?? '')].some(hasPlainBar))
    throw invalidRuleError(rule, 'it has | outside of a group. Write a rule for each, or \\|');
  return {
    rule,
    isRemembered,
    matchesTool: compileGlob(tool),
    about: subjectOf(rule),
    ...pathParts(rule, root),
    matchesHost: hostMatcher(plainHost),
    words: command === undefined || exact ? [] : wordsOf(rule, command),
  };
}

/**
 * Returns the rules that decide about a tool. A rule that denies a path or asks about it for `read` or `write` covers
 * all tools that read or change files. For commands, such a rule asks: the sandbox does not hide its path, because
 * only this use of the path is denied.
 */
export function rulesForTool(
  rules: readonly CompiledRule[],
  tool: string,
  kind: ToolKind,
): readonly CompiledRule[] {
  return rules.flatMap((one) => {
    const { rule, about, matchesTool } = one;
    if (matchesTool(tool)) return [one];
    if (about !== 'path' || rule.decision === 'allow') return [];
    if (coversKind(rule.tool, kind)) return [one];
    const use = kind === 'run' ? coveredUse(rule.tool) : undefined;
    if (use === undefined) return [];
    return [{ ...one, rule: { ...rule, decision: 'ask' }, isForWrites: use === 'write' }];
  });
}

/**
 * Returns the rules that have the same effect as a rule. Their paths have no parts without effect, such as in `src//a`.
 * If the rule asks or denies, each path is clearly absolute or relative: `{/a,b}/c` gives rules for `/a/c` and `b/c`.
 */
export function plainRules(rule: PermissionRule): readonly PermissionRule[] {
  const { path, exact = false, decision } = rule;
  if (path === undefined || exact || decision === 'allow') return [plainRule(rule)];
  // In a shell, a slash after a backslash is a slash.
  const plain = path.replace(/\\(.)/gs, (whole, char) => (char === '/' ? '/' : whole));
  // A rule also covers the path that it names if its quotes belong to a shell.
  const forms = /^"+\//.test(plain) ? [plain.replaceAll('"', ''), plain] : [plain];
  const paths = forms.flatMap((form) => alternativesOf(form) ?? [form]);
  if (paths.length > 1) return paths.map((one) => plainRule({ ...rule, path: one }));
  return [plainRule(plain === path ? rule : { ...rule, path: plain })];
}

/**
 * Returns a rule whose path has no parts without effect. Returns the rule itself if there are none. A rule that asks
 * about or denies `.` covers everything in the root.
 */
function plainRule(rule: PermissionRule): PermissionRule {
  const { path, exact = false, decision } = rule;
  if (path === undefined || path === '') return rule;
  const plain = plainGlob(path).replace(exact ? /^\.\// : '', '');
  const isAll = plain === '.' && !exact && decision !== 'allow';
  if (isAll) return { ...rule, path: '**' };
  return plain === path || plain === '.' ? rule : { ...rule, path: plain };
}

const noPath = {
  ...{ matchesPath: () => false, testsIn: () => [], globs: () => [], links: () => [] },
  mayCoverMore: () => false,
};

/** Returns the parts of a rule that are about its path. */
function pathParts(
  { path, exact = false, decision }: PermissionRule,
  root: string,
): Pick<CompiledRule, keyof typeof noPath> {
  if (path === undefined) return noPath;
  const isWide = decision !== 'allow';
  const matches = pathMatcher(path, { exact, isWide });
  // A rule that allows need not match the real path. The policy then asks.
  if (!isWide) return { ...noPath, matchesPath: matches };
  const testsIn = entryMatcher(path, { exact });
  const compiled = new Map<string, Pick<CompiledRule, 'matchesPath' | 'testsIn'>>();
  const behindLinks = recent(() => {
    const found = linkedGlobs(root, path, exact);
    for (const glob of found.globs)
      if (!compiled.has(glob))
        compiled.set(glob, {
          matchesPath: pathMatcher(glob, { isWide }),
          testsIn: entryMatcher(glob),
        });
    const matchers = found.globs.flatMap((glob) => compiled.get(glob) ?? []);
    return { ...found, matchers };
  });
  return {
    links: () => behindLinks().links,
    mayCoverMore: () => !behindLinks().isComplete,
    matchesPath: (given) =>
      matches(given) || behindLinks().matchers.some(({ matchesPath }) => matchesPath(given)),
    testsIn: (folder) => [
      ...testsIn(folder),
      ...behindLinks().matchers.flatMap((behind) => behind.testsIn(folder)),
    ],
    globs: () => [
      { glob: path, exact },
      ...behindLinks().globs.map((glob) => ({ glob, exact: false })),
    ],
  };
}

/**
 * Matches a path that begins with a part that only a shell replaces, or with a scheme or a drive. Such a path never
 * is the path of a call. The last alternative matches only complete paths, because `~$*` is a usual name.
 */
const shellPath =
  /^["']*(?:(~\w*|\$\w+|\$\{\w+\}|%\w+%|file:|[a-zA-Z]:(?=\\))[/\\]|(~|\$[A-Z_]+|\$\{\w+\})$)/;

/**
 * Returns a host in the form that a URL gives it, which is the form of the host of a call. Returns undefined if it is
 * not a host name.
 *
 * @example plainHostOf('*.Bücher.de'); // '*.xn--bcher-kva.de'
 */
function plainHostOf(host: string): string | undefined {
  const [, star = '', name = ''] = /^(\*\.)?([^\s*/:@?#\\]+)$/.exec(host) ?? [];
  const plain = URL.parse(`http://${name}`)?.hostname.replace(/\.$/, '') ?? '';
  const isAddress = /^[\d.]+$/.test(plain);
  const isName = plain.split('.').every((label) => label !== '');
  return isName && !(isAddress && star !== '') ? star + plain : undefined;
}

function hostMatcher(wanted: string | undefined): (name: string) => boolean {
  if (wanted === undefined) return () => false;
  return wanted.startsWith('*.')
    ? (name) => name.endsWith(wanted.slice(1))
    : (name) => name === wanted;
}

function subjectOf({ path, command, host }: PermissionRule): CompiledRule['about'] {
  if (host !== undefined) return 'host';
  if (path !== undefined) return 'path';
  return command === undefined ? 'tool' : 'command';
}

function wordsOf(rule: PermissionRule, command: string): readonly string[] {
  const { parts, unsupportedSyntax } = splitCommand(command);
  const [words = []] = parts;
  const isSimple = unsupportedSyntax === undefined && parts.length === 1;
  if (/\s/.test(words[0]?.text ?? ''))
    throw invalidRuleError(rule, 'its program has a space. Write the words without quotes');
  if (isSimple && words.every(({ isPlain }) => isPlain)) return words.map(({ text }) => text);
  throw invalidRuleError(
    rule,
    `its command must consist of plain words${unsupportedSyntax ? `: it has ${unsupportedSyntax}` : ''}`,
  );
}

function invalidRuleError(rule: PermissionRule, why: string): AgentError {
  return new AgentError('bad_option', `Cannot use the rule ${JSON.stringify(rule)}: ${why}`);
}
