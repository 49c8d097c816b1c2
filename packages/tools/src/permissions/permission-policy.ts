import { isAbsolute } from 'node:path';
import { AgentError } from '@millrace/agent';
import { commandOf, decide, decidePath, type PolicyCall, pathOf, type Ruling } from './decide.ts';
import { compileRule, type Decision, lexicalPath, type PermissionRule } from './permission-rule.ts';
import { parseReadOnlyCommand, type ReadPath } from './read-only/read-only-command.ts';
import type { Word } from './split-command.ts';
import { type ToolKind, toolKindOf } from './tool-kinds.ts';

/** All that a policy is made of. It can be stored as JSON, and made again from it. */
export interface PolicyData {
  /** The real path of the workspace. */
  readonly root: string;
  readonly rules?: readonly PermissionRule[] | undefined;
  /** What was decided in this session. They come after the rules. */
  readonly remembered?: readonly PermissionRule[] | undefined;
  /** What tools do that are not known here. Those of which nothing is known need a rule to be allowed. */
  readonly kinds?: Readonly<Record<string, ToolKind>> | undefined;
  /** Search tools get `exclude: policy.deniedPaths(name)`, and need not be asked for on that account. */
  readonly searchesSkipDenied?: boolean | undefined;
  /**
   * Commands that only look inside the root need no rule: `ls`, `grep`, `git status` and such, with options
   * that are known, where tools may look at the same. Whoever decides by this alone takes links for what
   * they are called; `approveBy` looks where they lead.
   */
  readonly freeReading?: boolean | undefined;
}

/**
 * Which calls may be made. A rule that denies wins, wherever it is; of the others that fit, the last
 * decides, and what is remembered comes after the rules. Where none fits: to read inside the root is
 * allowed, and all else is to be asked for.
 *
 * A command line is allowed where each command in it is and there is no more to it than commands. With a
 * redirection, a substitution and the like it is asked for, unless its tool as a whole or that very line
 * is allowed. To deny commands is a reminder and no fence, since one program can start another; to allow
 * few of them is. What a command does with files is not known here: paths are about tools that take one.
 * One that names a path that is denied is asked for.
 */
export interface PermissionPolicy extends PolicyData {
  readonly rules: readonly PermissionRule[];
  readonly remembered: readonly PermissionRule[];
  decide(call: PolicyCall): Ruling;
  /** The same policy with one rule more, for this session. `ruleFor` gives the narrowest for a call. */
  remember(rule: PermissionRule): PermissionPolicy;
  /** A rule for the path or the command of a call and no other, or for its tool where it has neither. */
  ruleFor(call: PolicyCall, decision: Decision): PermissionRule;
  /** Whether tools may look at a path without asking, or through all that is below it. */
  mayRead(path: ReadPath): boolean;
  /** What a tool may not see, for the `exclude` of search tools. */
  deniedPaths(tool: string): readonly string[];
}

const maxRemembered = 1000;

/**
 * @example
 * const policy = permissionPolicy({
 *   root: workspace.root,
 *   rules: [
 *     { tool: 'bash', command: 'git status', decision: 'allow' },
 *     { path: '.env', decision: 'deny' },
 *   ],
 * });
 * policy.decide({ tool: 'bash', input: { command: 'git status && rm -rf /' } }).decision; // 'ask'
 */
export function permissionPolicy(data: PolicyData): PermissionPolicy {
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
  const mayRead = ({ path, kind }: ReadPath) => {
    const place = { kind, path: lexicalPath(root, path), skipsDenied: false };
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
      const at = { root, kind: toolKindOf(call.tool, kinds), skipsDenied: searchesSkipDenied };
      return decide(call, rulesOf(call.tool), { ...at, read: freeReading ? read : undefined });
    },
    mayRead,
    remember: (rule) => permissionPolicy({ ...data, remembered: withRule(remembered, rule) }),
    ruleFor: (call, decision) => narrowestRule(call, decision, toolKindOf(call.tool, kinds), root),
    deniedPaths: (tool) =>
      rulesOf(tool).flatMap(({ rule: { decision, path } }) =>
        decision === 'deny' && path !== undefined ? [path] : [],
      ),
  };
}

/** At the end, where it counts most, and once. */
function withRule(
  rules: readonly PermissionRule[],
  rule: PermissionRule,
): readonly PermissionRule[] {
  const text = JSON.stringify(rule);
  return [...rules.filter((each) => JSON.stringify(each) !== text), rule];
}

function narrowestRule(
  call: PolicyCall,
  decision: Decision,
  kind: ToolKind,
  root: string,
): PermissionRule {
  const { tool } = call;
  const command = kind === 'run' ? commandOf(call) : undefined;
  if (command !== undefined) return { tool, command, exact: true, decision };
  const takesPath = kind === 'read' || kind === 'search' || kind === 'write';
  const path = takesPath ? pathOf(call) : undefined;
  if (path !== undefined)
    return { tool, path: lexicalPath(root, path).shown, exact: true, decision };
  if (takesPath || kind === 'run')
    throw invalidPolicyError(`a decision on ${tool}`, 'its input is unclear');
  return { tool, decision };
}

function invalidPolicyError(what: string, why: string): AgentError {
  return new AgentError('bad_option', `Cannot take ${what}: ${why}`);
}
