import type { DiffCause, DifferenceSide, SessionDifference } from './session-diff.ts';

const causeTexts: Readonly<Record<DiffCause, string>> = {
  request: 'another request',
  answer: 'another answer',
  tool_result: 'another tool result',
  command: 'another command',
  setting: 'another setting',
};

/** Returns the cause as text, for example `another answer`. */
export function causeText(cause: DiffCause): string {
  return causeTexts[cause];
}

/** Returns a sentence about a difference. It contains no content of the sessions. */
export function describeDifference(difference: Omit<SessionDifference, 'message'>): string {
  const { cause, turn, a, b } = difference;
  const records = `${recordText(a, 'a')}, ${recordText(b, 'b')}`;
  return `Turn ${turn}: ${causeText(cause)}. ${whatText(difference)} (${records})`;
}

function whatText({ field, call, a, b }: Omit<SessionDifference, 'message'>): string {
  const of =
    call === undefined ? '' : ` of call ${call.index + 1}${call.name && ` (${call.name})`}`;
  const type = (a ?? b)?.type ?? 'record';
  const at = (a ?? b)?.text?.at;
  switch (field) {
    case 'presence':
      if (type === 'branched') return `Only ${a ? 'a' : 'b'} has ${branchText(a ?? b)}`;
      if (a && b) return `${a.type} in a, ${b.type} in b${of}`;
      return `Only ${a ? 'a' : 'b'} has ${type}${of}`;
    case 'text':
    case 'arguments':
      return `The ${field}${of} differ${field === 'text' ? 's' : ''}${at === undefined ? '' : ` from character ${at + 1}`}`;
    case 'inputTokens':
      return 'The provider counted another number of input tokens';
    default:
      return call === undefined
        ? `The field ${field} of ${type} differs`
        : `The field ${field}${of} differs`;
  }
}

/** Returns what a branch changed, for example `another model`. */
function branchText(side: DifferenceSide | undefined): string {
  const { model, instructions } = (side?.value ?? {}) as Readonly<Record<string, unknown>>;
  const changed = [
    ...(model === undefined ? [] : ['another model']),
    ...(instructions === undefined ? [] : ['other instructions']),
  ];
  return changed.join(' and ');
}

function recordText(side: DifferenceSide | undefined, name: string): string {
  return side === undefined ? `no record in ${name}` : `record ${side.offset} of ${name}`;
}
