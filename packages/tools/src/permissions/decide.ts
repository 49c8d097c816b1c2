import { type CommandCircumstances, decideCommand } from './decide-command.ts';
import { decidePath } from './decide-path.ts';
import { placePath } from './match-path.ts';
import type { ReadyRule } from './permission-rule.ts';
import { type Ruling, rulingOf, rulingRule, strictest } from './ruling.ts';
import type { PathKind, ToolKind } from './tool-kinds.ts';

/** A call that is to be decided on. */
export interface PolicyCall {
  readonly tool: string;
  readonly input: unknown;
  /** Where its path leads, if known: a link may lead to what is denied. It is decided on as well. */
  readonly leadsTo?: string | undefined;
}

export interface Circumstances {
  readonly root: string;
  readonly kind: ToolKind;
  /** Searches do not see what is denied. */
  readonly skipsDenied: boolean;
  readonly read?: CommandCircumstances['read'];
}

/** Decides on a call by the rules of its tool. */
export function decide(call: PolicyCall, rules: readonly ReadyRule[], at: Circumstances): Ruling {
  switch (at.kind) {
    case 'run': {
      const command = commandOf(call);
      return command === undefined ? unclear(call) : decideCommand(rules, command, at);
    }
    case 'read':
    case 'search':
    case 'write':
      return decidePaths(call, rules, at, at.kind);
    case 'free':
      return byTool(call, rules) ?? { decision: 'allow', reason: `${call.tool} only asks` };
    case 'other':
      return byTool(call, rules) ?? { decision: 'ask', reason: `No rule allows ${call.tool}` };
  }
}

function decidePaths(
  call: PolicyCall,
  rules: readonly ReadyRule[],
  { root, skipsDenied }: Circumstances,
  kind: PathKind,
): Ruling {
  const given = pathOf(call);
  if (given === undefined) return unclear(call);
  const paths = [given, ...(call.leadsTo === undefined ? [] : [call.leadsTo])];
  const rulings = paths.map((path) =>
    decidePath(rules, { kind, path: placePath(root, path), skipsDenied }),
  );
  return strictest(rulings) ?? unclear(call);
}

function byTool({ tool }: PolicyCall, rules: readonly ReadyRule[]): Ruling | undefined {
  const deciding = rulingRule(rules.filter(({ about }) => about === 'tool'));
  return deciding && rulingOf(deciding, tool);
}

/** The path of a call: the root where it is left out, nothing where it is not a path. */
export function pathOf(call: PolicyCall): string | undefined {
  const fields = fieldsOf(call);
  return fields !== undefined && fields['path'] === undefined ? '.' : textOf(fields?.['path']);
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

function unclear({ tool }: PolicyCall): Ruling {
  return { decision: 'ask', reason: `What ${tool} is to do cannot be told from its input` };
}
