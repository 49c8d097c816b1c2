import { basename } from 'node:path';
import type { Approval } from '@millrace/agent';
import { foldName } from '../workspace/globs/folded-names.ts';
import { type LexicalPath, lexicalPath } from '../workspace/match-path.ts';
import { isDeniedPath, mayReach, mayShowHistory, reasonToAsk } from './denied-paths.ts';
import { homeProtection, secretProtection } from './home-protection.ts';
import {
  type CommandPart,
  canRunAnything,
  checksOfRule,
  displayCommand,
  matchesCommand,
  mayMatchCommand,
  whyNoRule,
} from './match-command.ts';
import type { CompiledRule } from './permission-rule.ts';
import { globNames, type Protection, readProtection, writeProtection } from './protected-paths.ts';
import {
  parseReadOnlyCommand,
  type ReadOnlyCommand,
  type ReadPath,
} from './read-only/read-only-command.ts';
import { splitCommand, type Word } from './split-command.ts';
import {
  type FetchKind,
  isFetchKind,
  type PathCall,
  type PathKind,
  type ToolKind,
} from './tool-kinds.ts';

/** A tool call that the policy decides on. */
export interface PolicyCall {
  readonly tool: string;
  readonly input: unknown;
  /**
   * The real path behind symbolic links, if it is known. The policy checks it too, because a link may lead to
   * a denied path.
   */
  readonly leadsTo?: string | undefined;
  /**
   * The segment of the real path that makes git execute the file or read it as settings, for example the
   * folder of `core.hooksPath`. It is set only for calls that write. A broad rule does not cover such a file.
   */
  readonly obeyedName?: string | undefined;
  /**
   * True if a different program implements the tool, for example an MCP server. The policy then does not
   * treat it as a tool of this package, even if it has the same name. Default: false.
   */
  readonly isRemote?: boolean | undefined;
}

export interface DecisionContext {
  readonly root: string;
  readonly kind: ToolKind;
  /** True if searches omit denied paths. */
  readonly skipsDenied: boolean;
  /** True if searches omit files for which a rule asks. */
  readonly skipsAsked: boolean;
  /** See `PolicyData.executedFiles`. The paths are in lower case. */
  readonly executed: ReadonlySet<string>;
  readonly read?: CommandContext['read'];
  readonly hidesDenied?: CommandContext['hidesDenied'];
}

/** Decides on a call with the rules that match its tool. */
export function decide(
  call: PolicyCall,
  rules: readonly CompiledRule[],
  at: DecisionContext,
): PolicyDecision {
  const { kind } = at;
  if (isFetchKind(kind)) {
    const host = hostOf(call, kind);
    return host === undefined ? unclearInput(call) : decideHost(call, rules, host);
  }
  switch (kind) {
    case 'run': {
      const command = commandOf(call);
      return command === undefined ? unclearInput(call) : decideCommand(rules, command, at);
    }
    case 'read':
    case 'search':
    case 'write':
      return decidePaths(call, rules, at, kind);
    case 'free':
      return (
        decideByTool(call, rules) ?? {
          decision: 'allow',
          reason: `${call.tool} only asks the user`,
        }
      );
    case 'other':
      return (
        decideByTool(call, rules) ?? { decision: 'ask', reason: `No rule allows ${call.tool}` }
      );
  }
}

function decidePaths(
  call: PolicyCall,
  rules: readonly CompiledRule[],
  { root, skipsDenied, skipsAsked, executed }: DecisionContext,
  kind: PathKind,
): PolicyDecision {
  const given = pathOf(call);
  if (given === undefined) return unclearInput(call);
  const named = lexicalPath(root, given);
  const real = call.leadsTo === undefined ? named : lexicalPath(root, call.leadsTo);
  const paths = named.absolute === real.absolute ? [named] : [named, real];
  const isExecuted = paths.some(({ absolute }) => executed.has(foldName(absolute)));
  const obeyedName = call.obeyedName ?? (isExecuted ? basename(real.absolute) : undefined);
  // The tool `glob` shows only names.
  const shows = { skipsDenied, skipsAsked: skipsAsked || call.tool === 'glob' };
  const rulings = paths.map((path) => decidePath(rules, { kind, path, ...shows, obeyedName }));
  const ruling = strictest(rulings) ?? unclearInput(call);
  if (paths.length === 1) return ruling;
  // The user who decides must see the used file, whichever of the two paths caused the decision.
  return { ...ruling, reason: `${ruling.reason} (${named.shown} → ${real.shown})` };
}

function decideHost(
  { tool }: PolicyCall,
  rules: readonly CompiledRule[],
  host: string,
): PolicyDecision {
  // A rule that allows all tools does not allow network access. The URL could contain secrets.
  const isFitting = ({ about, matchesHost, rule }: CompiledRule) =>
    about === 'tool'
      ? rule.decision !== 'allow' || rule.tool === tool
      : about === 'host' && matchesHost(host);
  const deciding = decidingRule(rules.filter(isFitting));
  if (deciding !== undefined) return rulingFromRule(deciding, `${tool} from ${host}`);
  return { decision: 'ask', reason: `No rule allows ${tool} from ${host}` };
}

function decideByTool(
  { tool }: PolicyCall,
  rules: readonly CompiledRule[],
): PolicyDecision | undefined {
  const deciding = decidingRule(rules.filter(({ about }) => about === 'tool'));
  return deciding && rulingFromRule(deciding, tool);
}

/**
 * Returns the path of a call. Returns `.` if the call has no path, and undefined if the path is not a string.
 */
export function pathOf(call: PolicyCall): string | undefined {
  const fields = fieldsOf(call);
  return fields !== undefined && fields['path'] === undefined ? '.' : textOf(fields?.['path']);
}

/** True if a call deletes its path. If the path is a link, the call deletes the link and not its target. */
export function deletesPath(call: PolicyCall): boolean {
  return (
    call.tool === 'apply_patch' && !call.isRemote && fieldsOf(call)?.['type'] === 'delete_file'
  );
}

/** Returns the host that gets data of a call. Returns undefined if it depends on a URL that is invalid. */
export function hostOf(call: PolicyCall, kind: FetchKind): string | undefined {
  if (kind !== 'fetch') return kind.slice('fetch:'.length) || undefined;
  const given = fieldsOf(call)?.['url'];
  const url = typeof given === 'string' ? URL.parse(given) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined;
  return url.hostname.toLowerCase().replace(/\.$/, '') || undefined;
}

export function commandOf(call: PolicyCall): string | undefined {
  return textOf(fieldsOf(call)?.['command']);
}

function fieldsOf({ input }: PolicyCall): Readonly<Record<string, unknown>> | undefined {
  const hasFields = typeof input === 'object' && input !== null;
  return hasFields ? (input as Readonly<Record<string, unknown>>) : undefined;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function unclearInput({ tool }: PolicyCall): PolicyDecision {
  return { decision: 'ask', reason: `The input of ${tool} is unclear` };
}

/**
 * Decides on a command line with the rules of its tool. It decides on each command in the line separately,
 * and the strictest decision applies to the line.
 */
function decideCommand(
  rules: readonly CompiledRule[],
  line: string,
  context: CommandContext,
): PolicyDecision {
  const { root } = context;
  const { parts, targets, unsupportedSyntax } = splitCommand(line);
  const decide = (words: readonly Word[]) =>
    decidePart(rules, { root, line, words, targets, unsupportedSyntax }, context);
  const rulings = parts.map(decide);
  const deciding = strictest(rulings) ?? decide([]);
  const { isUnasked: _, withoutRule: __, ...ruling } = deciding;
  const readings = rulings.flatMap((one) => one.readOnlyCommands ?? []);
  if (ruling.decision === 'allow' && isGitMixed(rulings, parts))
    return { decision: 'ask', reason: 'The line has git and commands that do more than read' };
  if (ruling.decision === 'allow' && isElsewhere(rulings, parts, root))
    return {
      decision: 'ask',
      reason: 'The line changes to another folder before a command whose paths must be checked',
    };
  if (ruling.decision === 'ask')
    return { ...ruling, reason: ruling.reason + otherCommands(rulings, deciding) };
  if (ruling.decision !== 'allow') return ruling;
  const usedPaths = rulings.flatMap((one) => one.usedPaths ?? []);
  return {
    ...ruling,
    ...(readings.length > 0 && { readOnlyCommands: readings }),
    ...(usedPaths.length > 0 && { usedPaths }),
  };
}

/** Maximum number of commands that a reason names. */
const maxNamed = 8;

/**
 * Names the other commands without a rule. A user who takes a command for a part of a quoted text or of a comment can
 * see in the reason that the shell runs it.
 */
function otherCommands(rulings: readonly PartDecision[], deciding: PartDecision): string {
  const others = rulings.flatMap((one) => (one === deciding ? [] : (one.withoutRule ?? [])));
  const more = others.length - maxNamed;
  const named = [...others.slice(0, maxNamed), ...(more > 0 ? [`${more} more commands`] : [])];
  return named.map((command) => `. No rule allows ${command}`).join('');
}

/**
 * True if a line contains both a git command without a rule and a command that does more than read. A line
 * that only reads gets an environment in which git runs no programs of the repository. Any other line does
 * not get this environment.
 */
function isGitMixed(
  rulings: readonly PartDecision[],
  parts: readonly (readonly Word[])[],
): boolean {
  const hasGit = rulings.some((one) => one.isUnasked && one.readOnlyCommands?.some((c) => c.isGit));
  return hasGit && parts.some((words) => parseReadOnlyCommand(words) === undefined);
}

/**
 * True if a rule lets the line change the folder, and the line also has a command whose paths or repository
 * are checked. The check uses the root, but the command would run in the new folder.
 */
function isElsewhere(
  rulings: readonly PartDecision[],
  parts: readonly (readonly Word[])[],
  root: string,
): boolean {
  const isChange = (at: number) => changesFolder(parts[at] ?? [], root);
  return (
    rulings.some((one, at) => isChange(at) && !one.isUnasked) &&
    rulings.some((one, at) => !isChange(at) && one.readOnlyCommands?.some((c) => !c.isByRule))
  );
}

const folderCommands: ReadonlySet<string> = new Set(['cd', 'chdir', 'pushd', 'popd']);

/** True if a command may change to a folder other than the root. */
function changesFolder(words: readonly Word[], root: string): boolean {
  if (!folderCommands.has(words[0]?.text ?? '')) return false;
  const [target = ''] = parseReadOnlyCommand(words)?.paths.map(({ path }) => path) ?? [];
  // If `..` follows a link in the path, the shell may reach a different folder.
  return target === '' || target.includes('..') || lexicalPath(root, target).shown !== '.';
}

interface CommandContext {
  readonly root: string;
  /**
   * Returns the parsed command if it only reads paths that tools may read without asking. Otherwise it
   * returns undefined.
   */
  readonly read?: ((words: readonly Word[]) => ReadOnlyCommand | undefined) | undefined;
  /** See `PolicyData.hidesDenied`. */
  readonly hidesDenied?: boolean | undefined;
}

interface PartDecision extends PolicyDecision {
  /** True if the command is allowed without a rule, because it only reads. Default: false. */
  readonly isUnasked?: boolean | undefined;
  /** The command, if no rule matches it. */
  readonly withoutRule?: string | undefined;
}

function decidePart(
  rules: readonly CompiledRule[],
  part: CommandPart,
  { read, hidesDenied = false }: CommandContext,
): PartDecision {
  const commandText = displayCommand(part);
  const deciding = decidingRule(rules.filter((compiled) => matchesCommand(compiled, part)));
  if (deciding === undefined) {
    const mayBeRestricted =
      part.unsupportedSyntax !== undefined || rules.some((one) => mayMatchCommand(one, part));
    const readOnly = mayBeRestricted ? undefined : read?.(part.words);
    if (readOnly !== undefined)
      return {
        decision: 'allow',
        reason: `${commandText} only reads`,
        readOnlyCommands: [readOnly],
        isUnasked: true,
      };
    const reason = `No rule allows ${commandText}${whyNoRule(rules, part)}`;
    return { decision: 'ask', reason, withoutRule: commandText };
  }
  const doubt =
    reasonForDoubt(rules, deciding, part) ?? reachOfDenied(rules, deciding, part, hidesDenied);
  if (doubt !== undefined) return { decision: 'ask', reason: doubt };
  const checks = checksOfRule(deciding, part);
  const ruling = rulingFromRule(deciding, commandText);
  const isChecked = !hidesDenied && isBroadAllow(deciding) && rules.some(isDeniedPath);
  const usedPaths = isChecked ? parseReadOnlyCommand(part.words)?.paths : undefined;
  return {
    ...ruling,
    ...(checks !== undefined && { readOnlyCommands: [checks] }),
    ...(usedPaths !== undefined && { usedPaths }),
  };
}

/**
 * Returns the reason to ask although a rule allows the command. Returns undefined if there is no reason, or
 * if the rule is for exactly this line.
 */
function reasonForDoubt(
  rules: readonly CompiledRule[],
  deciding: CompiledRule,
  part: CommandPart,
): string | undefined {
  const { rule, about } = deciding;
  if (rule.decision !== 'allow' || rule.exact) return undefined;
  const isBlindlyAllowed = about === 'tool' && canRunAnything(part);
  if (isBlindlyAllowed && rules.some(isCommandRestriction)) {
    return `Some commands are restricted, and it is unknown what ${displayCommand(part)} runs`;
  }
  const restriction = decidingRule(
    rules.filter((compiled) => compiled === deciding || mayMatchCommand(compiled, part)),
  );
  if (restriction === undefined || restriction === deciding) return undefined;
  const { command, path = command, decision } = restriction.rule;
  const is = decision === 'deny' ? 'is denied' : 'needs approval';
  return `${displayCommand(part)} may use ${path}, which ${is}`;
}

/**
 * Returns the reason to ask about a command that may use a denied path without naming it. There is no reason
 * if all words of the command are known, and none of the paths that it uses is denied.
 */
function reachOfDenied(
  rules: readonly CompiledRule[],
  deciding: CompiledRule,
  part: CommandPart,
  hidesDenied: boolean,
): string | undefined {
  const denied = rules.find(isDeniedPath);
  if (denied === undefined || !isBroadAllow(deciding)) return undefined;
  const { words, root, unsupportedSyntax } = part;
  const { path } = denied.rule;
  const command = displayCommand(part);
  if (mayShowHistory(part))
    return `${command} may show an older version of ${path}, which is denied`;
  if (hidesDenied) return undefined;
  const read = unsupportedSyntax === undefined ? parseReadOnlyCommand(words) : undefined;
  if (read === undefined || changesFolder(words, root)) {
    // A prefix rule names a program on purpose. It covers the files that the program reads by itself.
    const isMeant = deciding.about === 'command' && words.every(({ isPlain }) => isPlain);
    return isMeant ? undefined : `${path} is denied, and it is unknown which files ${command} uses`;
  }
  const isReached = read.paths.some((one) => !mayReach(rules, root, one));
  return isReached ? `${command} may use ${path}, which is denied` : undefined;
}

function isBroadAllow({ rule }: CompiledRule): boolean {
  return rule.decision === 'allow' && !rule.exact;
}

function isCommandRestriction({ rule, about }: CompiledRule): boolean {
  return about === 'command' && !rule.exact && rule.decision !== 'allow';
}

/** Decides on the use of a path with the rules of the tool that uses it. */
export function decidePath(rules: readonly CompiledRule[], call: PathCall): PolicyDecision {
  const { kind, path } = call;
  const fitting = rules.filter((compiled) => matchesPathRule(compiled, path));
  const deciding = decidingRule(fitting);
  const isAllowed =
    deciding === undefined ? kind !== 'write' && path.isInside : deciding.rule.decision === 'allow';
  const doubt = isAllowed && reasonToAsk(rules, call, deciding);
  if (doubt) return { decision: 'ask', reason: doubt };
  const protection = protectionOf(call);
  const danger = protection && protectionText[protection.why];
  if (isAllowed && protection && !fitting.some((one) => isMeantFor(one, protection)))
    return { decision: 'ask', reason: `${path.shown} ${danger}` };
  const what = `${{ read: 'Reading', search: 'Searching', write: 'Writing' }[kind]} ${path.shown}`;
  if (deciding !== undefined) return rulingFromRule(deciding, what);
  const ruling = defaultRuling(what, call);
  // The user must learn that this change is not like the others.
  return kind === 'write' && danger !== undefined
    ? { ...ruling, reason: `${ruling.reason}. It ${danger}` }
    : ruling;
}

const protectionText: Readonly<Record<Protection['why'], string>> = {
  runs_code: 'can make git, a shell, an editor or another program run code',
  secret: 'looks like a file with secrets',
};

function protectionOf(call: PathCall): Protection | undefined {
  const { kind, path, isNamesOnly = false, obeyedName } = call;
  // The read protection also applies to a write, because the tool `edit` shows lines of the file if it does
  // not find a text.
  if (kind === 'write')
    return (
      writeProtection(path.shown) ??
      readProtection(path.shown) ??
      homeProtection(path, 'write') ??
      (obeyedName === undefined ? undefined : { segment: obeyedName, why: 'runs_code' })
    );
  return isNamesOnly ? undefined : secretProtection(path);
}

/**
 * True if a rule allows a protected path on purpose. Such a rule contains the path, or allows everything for
 * all tools.
 */
function isMeantFor({ rule, about }: CompiledRule, protection: Protection): boolean {
  const { decision, exact = false, yields = false, path, tool } = rule;
  if (decision !== 'allow') return false;
  if (exact) return true;
  if (about === 'tool') return tool === undefined && !yields;
  return path !== undefined && globNames(path, protection);
}

/**
 * True if a rule applies to the path. Outside the root, only a rule with an absolute path can allow a call.
 */
function matchesPathRule({ about, rule, matchesPath }: CompiledRule, path: LexicalPath): boolean {
  if (about === 'tool') return path.isInside || rule.decision !== 'allow';
  return about === 'path' && matchesPath(path);
}

function defaultRuling(what: string, { kind, path }: PathCall): PolicyDecision {
  if (!path.isInside) return { decision: 'ask', reason: `${path.shown} is outside the workspace` };
  if (kind === 'write')
    return {
      decision: 'ask',
      reason: `No rule allows ${what.charAt(0).toLowerCase()}${what.slice(1)}`,
    };
  return { decision: 'allow', reason: `${what} is inside the workspace` };
}

/** A decision of the policy and the reason for it. */
export interface PolicyDecision {
  readonly decision: Approval;
  readonly reason: string;
  /**
   * The commands that the caller must check, because the policy itself does not read files. The caller must
   * check the targets of the paths, and which programs the command or the repository would run.
   * `approveByPolicy` does this.
   */
  readonly readOnlyCommands?: readonly ReadOnlyCommand[] | undefined;
  /**
   * The paths that an allowed command uses, if a rule denies paths. The caller must check that they do not lead
   * to a denied path. `approveByPolicy` does this.
   */
  readonly usedPaths?: readonly ReadPath[] | undefined;
}

const strictness = { allow: 0, ask: 1, deny: 2 } as const;

/** Returns the strictest decision. If several decisions are equally strict, it returns the first of them. */
function strictest<Ruling extends PolicyDecision>(rulings: readonly Ruling[]): Ruling | undefined {
  return rulings.toSorted((a, b) => strictness[b.decision] - strictness[a.decision])[0];
}

/**
 * Returns the rule that decides. A rule that denies has precedence. Otherwise the last rule decides. If the
 * last rule has `yields`, a rule that asks has precedence over it.
 */
function decidingRule(fitting: readonly CompiledRule[]): CompiledRule | undefined {
  const last = fitting.at(-1);
  const asked = fitting.findLast(({ rule }) => rule.decision === 'ask');
  const counts = last?.rule.yields ? (asked ?? last) : last;
  return fitting.find(({ rule }) => rule.decision === 'deny') ?? counts;
}

function rulingFromRule({ rule, isRemembered }: CompiledRule, what: string): PolicyDecision {
  const { decision, reason } = rule;
  const by = isRemembered ? 'by an earlier decision in this session' : 'by a rule';
  const verb = { allow: 'is allowed', ask: 'needs approval', deny: 'is denied' }[decision];
  return { decision, reason: `${what} ${verb} ${by}${reason === undefined ? '' : `: ${reason}`}` };
}
