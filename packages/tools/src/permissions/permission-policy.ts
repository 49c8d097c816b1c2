import { isAbsolute } from 'node:path';
import { AgentError, type Approval } from '@millrace/agent';
import type { OptionNames } from '@millrace/core';
import { assertKnownOptions } from '../known-options.ts';
import { foldName } from '../workspace/globs/folded-names.ts';
import { lexicalPath } from '../workspace/match-path.ts';
import {
  commandOf,
  decide,
  decidePath,
  hostOf,
  type PolicyCall,
  type PolicyDecision,
  pathOf,
} from './decide.ts';
import { deniedEntries, isDeniedPath, mayReach } from './denied-paths.ts';
import { compileRule, type PermissionRule, plainRules, rulesForTool } from './permission-rule.ts';
import { type AskedPath, askedPathsOf } from './read-only/asked-paths.ts';
import { parseReadOnlyCommand, type ReadPath } from './read-only/read-only-command.ts';
import type { Word } from './split-command.ts';
import { isFetchKind, isPathKind, type ToolKind, toolKindOf } from './tool-kinds.ts';

/** The data of a policy. It can be stored as JSON and passed to `permissionPolicy` again. */
export interface PolicyData {
  /** The real path of the workspace. */
  readonly root: string;
  /** The configured rules. Default: none. */
  readonly rules?: readonly PermissionRule[] | undefined;
  /** The rules from decisions in this session. They come after `rules`. Default: none. */
  readonly remembered?: readonly PermissionRule[] | undefined;
  /**
   * The kinds of additional tools, by name. A tool of unknown kind is allowed only by a rule. Default: none.
   */
  readonly kinds?: Readonly<Record<string, ToolKind>> | undefined;
  /**
   * True if the search tools omit denied paths (`exclude: policy.deniedPaths(name)`). A denied path below the
   * searched folder is then no reason to ask. Default: false.
   */
  readonly searchesSkipDenied?: boolean | undefined;
  /**
   * True if the tool `grep` omits the files for which a rule asks (`policies: [policy]`). Such a file below the
   * searched folder is then no reason to ask. Default: false.
   */
  readonly searchesSkipAsked?: boolean | undefined;
  /**
   * True if read-only commands inside the root are allowed without a rule. Examples are `ls`, `grep` and `git
   * status`, with known options, on paths that tools may read. The policy itself does not resolve links, but
   * `approveByPolicy` checks their targets. Default: false.
   */
  readonly freeReading?: boolean | undefined;
  /**
   * True if commands run in a sandbox that hides denied paths (`approveInSandbox`). The policy then asks only
   * about commands that name a denied path, or that may show an older version from git. Default: false.
   */
  readonly hidesDenied?: boolean | undefined;
  /**
   * The absolute real paths of further files that another program executes, for example scripts of hooks. The
   * policy treats them like the files that make other programs run code. Default: none.
   */
  readonly executedFiles?: readonly string[] | undefined;
}

/**
 * Decides which tool calls are allowed. A rule that denies always has precedence. Of the other rules that
 * match, the last one decides, and remembered rules come after the configured ones. If no rule matches,
 * reading inside the root is allowed, and everything else needs an approval.
 *
 * A command line is allowed if each command in it is allowed and it contains nothing but plain commands. With
 * a redirection, a substitution or similar syntax the line needs an approval, unless a rule allows the whole
 * tool or exactly that line. A list of denied commands is not a security boundary, because a program can
 * start other programs. A short list of allowed commands is a security boundary. Path rules apply to tools
 * that take a path, because the policy cannot see which files a command uses. If a rule denies a path, a
 * command needs an approval if it contains that path, or if it is unknown which files the command uses.
 */
export interface PermissionPolicy extends PolicyData {
  readonly rules: readonly PermissionRule[];
  readonly remembered: readonly PermissionRule[];
  /** Returns the decision on a tool call, with the reason. */
  decide(call: PolicyCall): PolicyDecision;
  /**
   * Returns a new policy with one more rule for this session. `ruleFor` returns the narrowest rule for a
   * call.
   */
  remember(rule: PermissionRule): PermissionPolicy;
  /**
   * Returns a rule for exactly the path or the command of a call. If the call has neither, it returns a rule
   * for the tool.
   */
  ruleFor(call: PolicyCall, decision: Approval): PermissionRule;
  /**
   * Returns true if tools may read a path without asking. For a search, this includes everything below the
   * path.
   */
  mayRead(path: ReadPath): boolean;
  /**
   * Returns false if a rule denies this path for a tool. For a search, it also returns false if a rule may deny
   * a path below.
   */
  mayReach(tool: string, path: ReadPath): boolean;
  /**
   * Returns the paths that a tool must not see, for the `exclude` option of the search tools. If a path of a rule
   * leads through a link, the result also has its real path.
   */
  deniedPaths(tool: string): readonly string[];
  /**
   * Returns a function that prepares the check of all entries of a folder, which is faster than `mayReach` for each
   * entry. The inner function returns true if a rule denies the entry with this name.
   */
  deniedEntries(tool: string): (folder: string) => (name: string) => boolean;
  /** Returns the rules that ask about paths for a tool. The search tools use it: see their option `policies`. */
  askedPaths(tool: string): readonly AskedPath[];
  /** Returns the links in the root through which the rules that deny paths for a tool lead. */
  deniedLinks(tool: string): DeniedLinks;
}

/** The links in the root through which rules lead. */
interface DeniedLinks {
  readonly links: readonly string[];
  /** The path of a rule with too many folders and links to follow. Undefined if there is none. */
  readonly tooMany: string | undefined;
}

const maxRemembered = 1000;

/**
 * The names of the options. A policy object can also be passed as data, so the names of its methods are
 * included.
 */
const optionNames: OptionNames<PermissionPolicy> = {
  ...{ root: true, rules: true, remembered: true, kinds: true },
  ...{ searchesSkipDenied: true, searchesSkipAsked: true, freeReading: true },
  ...{ hidesDenied: true, executedFiles: true },
  ...{ decide: true, remember: true, ruleFor: true, mayRead: true, mayReach: true },
  ...{ deniedPaths: true, deniedLinks: true, deniedEntries: true, askedPaths: true },
};

/**
 * Creates a permission policy from rules.
 *
 * @example
 * ```ts
 * const policy = permissionPolicy({
 *   root: workspace.root,
 *   rules: [
 *     { tool: 'bash', command: 'git status', decision: 'allow' },
 *     { path: '.env', decision: 'deny' },
 *   ],
 * });
 * policy.decide({ tool: 'bash', input: { command: 'git status && rm -rf /' } }).decision; // 'ask'
 * ```
 */
export function permissionPolicy(data: PolicyData): PermissionPolicy {
  assertKnownOptions('permissionPolicy', data, optionNames);
  const { root, kinds, searchesSkipDenied = false, searchesSkipAsked = false } = data;
  const rules = (data.rules ?? []).flatMap(plainRules);
  const remembered = (data.remembered ?? []).flatMap(plainRules);
  const { freeReading = false, hidesDenied = false } = data;
  const executed = new Set(data.executedFiles?.map(foldName));
  if (!isAbsolute(root))
    throw invalidPolicyError(`a policy for ${root}`, 'its root is not an absolute path');
  if (remembered.length > maxRemembered) {
    throw invalidPolicyError('a further decision', `${maxRemembered} are remembered already`);
  }
  const compiled = [
    ...rules.map((rule) => compileRule(rule, false, root)),
    ...remembered.map((rule) => compileRule(rule, true, root)),
  ];
  const rulesOf = (tool: string) => rulesForTool(compiled, tool, toolKindOf(tool, kinds));
  const mayRead = ({ path, kind, ...shown }: ReadPath) => {
    const skips = { skipsDenied: false, skipsAsked: false };
    const place = { kind, path: lexicalPath(root, path), ...skips, ...shown };
    return decidePath(rulesOf(kind === 'read' ? 'read' : 'grep'), place).decision === 'allow';
  };
  const read = (words: readonly Word[]) => {
    const readOnly = parseReadOnlyCommand(words);
    const isHere = readOnly?.paths.every(({ path }) => lexicalPath(root, path).shown === '.');
    if (readOnly?.program === 'cd' && !isHere) return undefined;
    return readOnly?.paths.every(mayRead) ? readOnly : undefined;
  };
  return {
    ...data,
    rules,
    remembered,
    decide(call) {
      const kind = toolKindOf(call.tool, kinds, call.isRemote);
      const skips = { skipsDenied: searchesSkipDenied, skipsAsked: searchesSkipAsked };
      const at = { root, kind, ...skips, hidesDenied, executed };
      return decide(call, rulesOf(call.tool), { ...at, read: freeReading ? read : undefined });
    },
    mayRead,
    mayReach: (tool, path) => mayReach(rulesOf(tool), root, path),
    remember: (rule) => permissionPolicy({ ...data, remembered: withRule(remembered, rule) }),
    ruleFor: (call, decision) =>
      narrowestRule(call, decision, toolKindOf(call.tool, kinds, call.isRemote), root),
    deniedPaths: (tool) =>
      rulesOf(tool).flatMap(({ rule, globs }) =>
        rule.decision === 'deny' ? globs().map(({ glob }) => glob) : [],
      ),
    deniedEntries: (tool) => deniedEntries(rulesOf(tool), root),
    askedPaths: (tool) => askedPathsOf(rulesOf(tool)),
    deniedLinks(tool) {
      const denied = rulesOf(tool).filter(isDeniedPath);
      return {
        links: [...new Set(denied.flatMap(({ links }) => links()))],
        tooMany: denied.find(({ mayCoverMore }) => mayCoverMore())?.rule.path,
      };
    },
  };
}

/** Appends the rule, because the last rule decides. It removes an earlier rule that is equal. */
function withRule(
  rules: readonly PermissionRule[],
  rule: PermissionRule,
): readonly PermissionRule[] {
  const text = JSON.stringify(rule);
  return [...rules.filter((each) => JSON.stringify(each) !== text), rule];
}

function narrowestRule(
  call: PolicyCall,
  decision: Approval,
  kind: ToolKind,
  root: string,
): PermissionRule {
  const { tool } = call;
  const command = kind === 'run' ? commandOf(call) : undefined;
  if (command !== undefined) return { tool, command, exact: true, decision };
  const host = isFetchKind(kind) ? hostOf(call, kind) : undefined;
  if (host !== undefined) return { tool, host, decision };
  const takesPath = isPathKind(kind);
  const path = takesPath ? pathOf(call) : undefined;
  if (path !== undefined)
    return { tool, path: lexicalPath(root, path).shown, exact: true, decision };
  if (takesPath || kind === 'run' || isFetchKind(kind))
    throw invalidPolicyError(`a decision on ${tool}`, 'its input is unclear');
  return { tool, decision };
}

function invalidPolicyError(what: string, why: string): AgentError {
  return new AgentError('bad_option', `Cannot use ${what}: ${why}`);
}
