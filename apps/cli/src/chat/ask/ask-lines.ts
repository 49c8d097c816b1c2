import type { JsonValue } from '@millrace/core';
import { cellWidth } from '../../text/cells/cell-width.ts';
import { clipLines } from '../../text/cells/clip-lines.ts';
import { count } from '../render/amounts.ts';
import { diffBody, margin } from '../render/call-body.ts';
import { inputDiff } from '../render/diff-lines.ts';
import { clipped, fitted, wrapped } from '../render/lines.ts';
import { inRole, inTone, type Look } from '../render/look.ts';
import type { PendingApproval } from '../state/pending.ts';
import type { Ask } from './ask.ts';
import type { ChoiceList } from './choice-list.ts';

/** An ask as it is shown, in at most so many lines: the choices first, then what they are about. */
export function askLines(look: Look, ask: Ask, list: ChoiceList, room: number): readonly string[] {
  const title = titleLines(look, ask);
  const choices = choiceLines(look, list, Math.max(1, room - title.length));
  const left = room - title.length - choices.length;
  const more = (hidden: number) => inTone(look, 'dim', `${margin}… ${count(hidden, 'more line')}`);
  const body = clipLines(aboutLines(look, ask), Math.max(0, left), { note: more });
  return fitted(look, [...title, ...body, ...choices].slice(-Math.max(1, room)));
}

function titleLines(look: Look, ask: Ask): readonly string[] {
  const title = (text: string) => [
    `${inTone(look, 'mark', '?')} ${inRole(look, 'strong', clipped(text, look.width - 2))}`,
  ];
  switch (ask.type) {
    case 'approval': {
      const who = ask.isChild ? 'A sub-agent asks: may' : 'May';
      const more = ask.others > 0 ? `  (${ask.others} more after this)` : '';
      return title(`${who} ${ask.approval.name} run?${more}`);
    }
    case 'question':
      return wrapped(look, ask.question.question).flatMap((line, index) =>
        index === 0 ? title(line) : [`  ${line}`],
      );
    case 'pick':
      return title(ask.pick.title);
  }
}

function aboutLines(look: Look, ask: Ask): readonly string[] {
  if (ask.type !== 'approval') return [];
  const { approval } = ask;
  const diff = inputDiff(approval.name, approval.input);
  const path = pathOf(approval.input);
  const bar = inTone(look, 'dim', margin);
  const isNamed = path !== undefined && diff !== undefined;
  const named = isNamed ? [bar + inRole(look, 'strong', clipped(path, look.width - 4))] : [];
  const input = diff === undefined ? inputLines(look, approval) : diffBody(look, diff);
  const why = approval.reason === undefined ? [] : wrapped(look, approval.reason, '  ');
  return [...named, ...input, ...why.map((line) => inTone(look, 'dim', line))];
}

function pathOf(input: JsonValue | undefined): string | undefined {
  const { path } = (input ?? {}) as { readonly path?: unknown };
  return typeof path === 'string' ? path : undefined;
}

function inputLines(look: Look, { name, input }: PendingApproval): readonly string[] {
  if (input === undefined) return [];
  const { command } = (input ?? {}) as { readonly command?: unknown };
  const text =
    name === 'bash' && typeof command === 'string'
      ? `$ ${command}`
      : JSON.stringify(input, null, 2);
  return wrapped(look, text, margin);
}

function choiceLines(look: Look, list: ChoiceList, room: number): readonly string[] {
  const { items, selected, ticked } = list;
  const first = Math.max(0, Math.min(selected - Math.floor(room / 2), items.length - room));
  return items.slice(first, first + room).map((item, index) => {
    const place = first + index;
    const isSelected = place === selected;
    const tick = ticked === undefined ? '' : ticked.has(place) ? '[x] ' : '[ ] ';
    const key = item.letter === undefined ? '' : ` (${item.letter})`;
    const label = clipped(`${tick}${item.label}${key}`, look.width - 2);
    const room = look.width - 2 - cellWidth(label) - 2;
    const detail = item.detail === undefined || room < 4 ? '' : `  ${clipped(item.detail, room)}`;
    const painted = isSelected ? inRole(look, 'strong', label) : label;
    return `${isSelected ? inRole(look, 'marker', '›') : ' '} ${painted}${inTone(look, 'dim', detail)}`;
  });
}
