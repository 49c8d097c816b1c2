import { isAbsolute } from 'node:path';
import { AgentError, type Approval } from '@millrace/agent';
import type { OptionNames } from '@millrace/core';
import { assertKnownOptions } from '../known-options.ts';
import { lexicalPath } from '../workspace/match-path.ts';
import {
  commandOf,
  decide,
  decidePath,
  type PolicyCall,
  type PolicyDecision,
  pathOf,
} from './decide.ts';
import { compileRule, type PermissionRule } from './permission-rule.ts';
import { parseReadOnlyCommand, type ReadPath } from './read-only/read-only-command.ts';
import type { Word } from './split-command.ts';
import { isPathKind, type ToolKind, toolKindOf } from './tool-kinds.ts';

/** The data of a policy. It can be stored as JSON and passed to `permissionPolicy` again. */
export interface PolicyData {
  /** The real path of the workspace. */
  readonly root: string;
  /** The configured rules. Default: none. */
  readonly rules?: readonly PermissionRule[] | undefined;
  /** The rules that were decided in this session. They come after `rules`. Default: none. */
  readonly remembered?: readonly PermissionRule[] | undefined;
  /**
   * The kinds of other tools, by name. A tool of unknown kind needs a rule to be allowed. Default: none.
   */
  readonly kinds?: Readonly<Record<string, ToolKind>> | undefined;
  /**
   * Whether the search tools leave out denied paths (`exclude: policy.deniedPaths(name)`). If they do, a
   * denied path below the searched folder is no reason to ask. Default: false.
   */
  readonly searchesSkipDenied?: boolean | undefined;
  /**
   * Whether read-only commands inside the root are allowed without a rule. Examples are `ls`, `grep` and
   * `git status`, with known options, on paths that tools may read. The policy itself does not resolve
   * links, but `approveByPolicy` checks where they lead. Default: false.
   */
  readonly freeReading?: boolean | undefined;
}

/**
 * Decides which tool calls are allowed. A rule that denies always has precedence. Of the other rules that
 * match, the last one decides, and remembered rules come after the configured ones. If no rule matches,
 * reading inside the root is allowed, and everything else needs an approval.
 *
 * A command line is allowed if each command in it is allowed and it contains nothing but plain commands.
 * With a redirection, a substitution or similar syntax the line needs an approval, unless a rule allows
 * the whole tool or exactly that line. Denying commands is not a security boundary, because one program
 * can start another. Allowing only a few commands is one. Path rules apply to tools that take a path,
 * because the policy cannot know what a command does with files. A command that names a denied path needs
 * an approval.
 */
export interface PermissionPolicy extends PolicyData {
  readonly rules: readonly PermissionRule[];
  readonly remembered: readonly PermissionRule[];
  /** Returns the decision on a tool call, with the reason. */
  decide(call: PolicyCall): PolicyDecision;
  /**
   * Returns the same policy with one more rule for this session. Use `ruleFor` to get the narrowest rule
   * for a call.
   */
  remember(rule: PermissionRule): PermissionPolicy;
  /**
   * Returns a rule for exactly the path or the command of a call, or for the tool if the call has
   * neither.
   */
  ruleFor(call: PolicyCall, decision: Approval): PermissionRule;
  /** Returns true if tools may read a path, or search everything below it, without asking. */
  mayRead(path: ReadPath): boolean;
  /** Returns the paths that a tool must not see, for the `exclude` option of the search tools. */
  deniedPaths(tool: string): readonly string[];
}

const maxRemembered = 1000;

/**
 * The names of the options. A policy itself can be passed as data, so the names of its methods are
 * included.
 */
const optionNames: OptionNames<PermissionPolicy> = {
  ...{ root: true, rules: true, remembered: true, kinds: true },
  ...{ searchesSkipDenied: true, freeReading: true },
  ...{ decide: true, remember: true, ruleFor: true, mayRead: true, deniedPaths: true },
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
  const { root, rules = [], remembered = [], kinds, searchesSkipDenied = false } = data;
  const { freeReading = false } = data;
  if (!isAbsolute(root))
    throw invalidPolicyError(`a policy for ${root}`, 'its root is not an absolute path');
  if (remembered.length > maxRemembered) {
    throw invalidPolicyError('a further decision', `${maxRemembered} are remembered already`);
  }
  const compiled = [
    ...rules.map((rule) => compileRule(rule, false)),
    ...remembered.map((rule) => compileRule(rule, true)),
  ];
  const rulesOf = (tool: string) => compiled.filter(({ matchesTool }) => matchesTool(tool));
  const mayRead = ({ path, kind, isNamesOnly }: ReadPath) => {
    const place = { kind, path: lexicalPath(root, path), skipsDenied: false, isNamesOnly };
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
      const at = { root, kind, skipsDenied: searchesSkipDenied };
      return decide(call, rulesOf(call.tool), { ...at, read: freeReading ? read : undefined });
    },
    mayRead,
    remember: (rule) => permissionPolicy({ ...data, remembered: withRule(remembered, rule) }),
    ruleFor: (call, decision) =>
      narrowestRule(call, decision, toolKindOf(call.tool, kinds, call.isRemote), root),
    deniedPaths: (tool) =>
      rulesOf(tool).flatMap(({ rule: { decision, path } }) =>
        decision === 'deny' && path !== undefined ? [path] : [],
      ),
  };
}

/** Appends the rule, because the last rule decides. An equal rule before it is removed. */
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
  const takesPath = isPathKind(kind);
  const path = takesPath ? pathOf(call) : undefined;
  if (path !== undefined)
    return { tool, path: lexicalPath(root, path).shown, exact: true, decision };
  if (takesPath || kind === 'run')
    throw invalidPolicyError(`a decision on ${tool}`, 'its input is unclear');
  return { tool, decision };
}

function invalidPolicyError(what: string, why: string): AgentError {
  return new AgentError('bad_option', `Cannot use ${what}: ${why}`);
}
