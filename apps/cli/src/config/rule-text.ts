import type { Approval } from '@millrace/agent';
import { nearestNames } from '@millrace/core';
import { type PermissionRule, sandboxRuleNames } from '@millrace/tools';
import { UsageError } from '../contract/errors.ts';
import { similarToolName, toolNames } from '../extensions/tool-names.ts';

const pathTools: readonly string[] = ['read', 'ls', 'grep', 'glob', 'write', 'edit', '*'];
const hostTools: readonly string[] = ['web_fetch', 'web_search'];
const commandTools: readonly string[] = ['bash', ...Object.values(sandboxRuleNames)];

/**
 * Parses a permission rule. A rule is a tool name, `tool:pattern` with a command prefix or a path
 * glob, `tool=text` for an exact match, `web_fetch:host` or `web_search:host`.
 *
 * @example
 * ruleFromText('bash:git status', 'allow');
 * // { tool: 'bash', command: 'git status', decision: 'allow' }
 * ruleFromText('write:src/**', 'allow'); // { tool: 'write', path: 'src/**', decision: 'allow' }
 * ruleFromText('*:.env', 'deny'); // { path: '.env', decision: 'deny' }
 */
export function ruleFromText(text: string, decision: Approval): PermissionRule {
  const [, name = '', sign, given = ''] = /^([^:=]*)(?:([:=])(.*))?$/s.exec(text) ?? [];
  const tool = name.trim();
  if (tool === '' || /\s/.test(tool))
    throw invalidRule(text, 'it does not start with the name of a tool');
  // A rule that allows and never applies does no harm.
  if (decision !== 'allow') assertOwnName(text, tool);
  const toolField = tool === '*' ? {} : { tool };
  if (sign === undefined) return { ...toolField, decision };
  const trimmed = given.trim();
  if (trimmed === '') throw invalidRule(text, `there is nothing after its ${sign}`);
  const exact = sign === '=' ? { exact: true } : {};
  // Spaces belong to the exact text that a rule allows. A rule that denies must not lose its effect through a space.
  const what = sign === '=' && decision === 'allow' ? given : trimmed;
  if (commandTools.includes(tool)) return { ...toolField, command: what, ...exact, decision };
  if (hostTools.includes(tool)) {
    if (sign === '=') throw invalidRule(text, 'a host follows a colon');
    return { tool, host: what, decision };
  }
  if (pathTools.includes(tool)) return { ...toolField, path: what, ...exact, decision };
  const names = toolNames.includes(tool) ? [] : [...pathTools, ...hostTools, ...commandTools];
  const isNear = (distance: number, name: string) => distance <= 2 && name !== '*';
  const [near] = nearestNames(tool, names, { most: 1, isNear });
  const way = near === undefined ? usualWay : `Did you mean ${near}?`;
  throw invalidRule(text, `${tool} supports neither a path nor a command in rules`, way);
}

/**
 * Formats a rule so that `ruleFromText` can parse it. The text does not contain the reason of the
 * rule.
 */
export function ruleToText({ tool, path, command, host, exact }: PermissionRule): string {
  if (host !== undefined) return `${tool ?? hostTools[0]}:${host}`;
  const sign = exact ? '=' : ':';
  if (command !== undefined) return `${tool ?? commandTools[0]}${sign}${command}`;
  return path === undefined ? (tool ?? '*') : `${tool ?? '*'}${sign}${path}`;
}

/** True if `ruleFromText` returns an equal rule for the text of a rule. Other rules must not be saved. */
export function isKeptByText(rule: PermissionRule): boolean {
  const fieldsOf = ({ tool, path, command, host, exact = false, decision }: PermissionRule) =>
    JSON.stringify([tool, path, command, host, exact, decision]);
  try {
    return fieldsOf(ruleFromText(ruleToText(rule), rule.decision)) === fieldsOf(rule);
  } catch {
    return false;
  }
}

/**
 * Throws if a rule uses the name of a tool in another agent, or its form of a rule. The rule would never apply. The
 * names of our tools have no capital letters.
 */
function assertOwnName(text: string, tool: string): void {
  const [, name = '', inner] = /^([^(]*)(?:\((.*)\))?\*?$/s.exec(tool) ?? [];
  const plain = name.replace(/\*+$/, '');
  const own = similarToolName(plain);
  if (inner !== undefined) {
    const way = `Write it like "${own ?? 'bash'}:${inner}"`;
    throw invalidRule(text, 'parentheses do not belong to the name of a tool', way);
  }
  if (own !== undefined && /[A-Z]/.test(plain))
    throw invalidRule(text, `there is no tool ${name}`, `Did you mean ${own}?`);
  const [, server, remote] = /^mcp__(.+?)__(.+)$/.exec(tool) ?? [];
  if (server !== undefined)
    throw invalidRule(text, `there is no tool ${tool}`, `Did you mean ${server}_${remote}?`);
}

const usualWay = 'Write it like "bash:git status", "write:src/**", "*:.env" or "github_search"';

function invalidRule(text: string, why: string, way = usualWay): UsageError {
  const shown = text.length > 60 ? `${text.slice(0, 60)}…` : text;
  return new UsageError(`Cannot use the rule ${JSON.stringify(shown)}: ${why}. ${way}`);
}
