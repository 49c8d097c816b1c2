import { diffBody, margin } from '../render/call-body.ts';
import { inputDiff } from '../render/diff-lines.ts';
import { wrapped } from '../render/lines.ts';
import { inTone, type Look } from '../render/look.ts';
import type { PendingApproval } from '../state/pending.ts';
import type { Ask } from './ask.ts';
import { isCommandTold } from './ask-title.ts';

type ApprovalAsk = Extract<Ask, { readonly type: 'approval' }>;

export interface AskBody {
  /** What it would do, all of it. */
  readonly subject: readonly string[];
  readonly reason: readonly string[];
}

const nothing: AskBody = { subject: [], reason: [] };

/** A long change is drawn often while somebody reads it. */
const known = new WeakMap<object, { readonly look: Look; readonly lines: readonly string[] }>();

/** What an ask is about, below its title. */
export function askBody(look: Look, ask: Ask): AskBody {
  if (ask.type !== 'approval') return nothing;
  const { approval, preview } = ask;
  const why = approval.reason === undefined ? [] : wrapped(look, approval.reason, '  ');
  const problem = preview?.problem === undefined ? [] : wrapped(look, preview.problem, '  ');
  return {
    subject: approval.name === 'bash' && isCommandTold(look, ask) ? [] : subjectLines(look, ask),
    reason: [
      ...problem.map((line) => inTone(look, 'bad', line)),
      ...why.map((line) => inTone(look, 'dim', line)),
    ],
  };
}

/** All of what an approval is about, with nothing left out. */
export function subjectLines(look: Look, ask: ApprovalAsk): readonly string[] {
  const key = ask.preview ?? ask.approval;
  const before = known.get(key);
  if (before?.look.width === look.width && before.look.theme === look.theme) return before.lines;
  const lines = drawn(look, ask);
  known.set(key, { look, lines });
  return lines;
}

/** The title says that. */
function isPathAlone({ name, input }: PendingApproval): boolean {
  const isLooking = name === 'read' || name === 'ls' || name === 'glob';
  return isLooking && Object.keys(input ?? {}).join() === 'path';
}

function drawn(look: Look, { approval, preview }: ApprovalAsk): readonly string[] {
  const { name, input } = approval;
  const diff = preview?.diff || inputDiff(name, input);
  if (diff !== undefined) return diffBody(look, diff, Number.POSITIVE_INFINITY);
  if (input === undefined || isPathAlone(approval)) return [];
  const { command } = (input ?? {}) as { readonly command?: unknown };
  const isCommand = name === 'bash' && typeof command === 'string';
  return wrapped(look, isCommand ? `$ ${command}` : JSON.stringify(input, null, 2), margin);
}
