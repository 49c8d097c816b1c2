import { cellWidth } from '../../text/cells/cell-width.ts';
import { count } from '../render/amounts.ts';
import { margin } from '../render/call-body.ts';
import { clipped, fitted } from '../render/lines.ts';
import { inRole, inTone, type Look } from '../render/look.ts';
import type { Ask } from './ask.ts';
import { askBody } from './ask-body.ts';
import { titleLines } from './ask-title.ts';
import type { ChoiceList } from './choice-list.ts';

/** Of the choices so many are seen in any case; the keys go through the others. */
const leastChoices = 3;

/** An ask as it is shown, in at most so many lines: what it is, its choices, why, then what it would do. */
export function askLines(look: Look, ask: Ask, list: ChoiceList, room: number): readonly string[] {
  const title = titleLines(look, ask).slice(0, Math.max(1, room));
  const { subject, reason } = askBody(look, ask);
  const rest = Math.max(0, room - title.length);
  // That there is more to see is told in any case.
  const wanted = Math.min(subject.length, 1);
  const least = Math.min(list.items.length, leastChoices);
  const choices = choiceLines(look, list, Math.min(rest, Math.max(least, rest - wanted)));
  const left = Math.max(0, rest - choices.length);
  const why = reason.slice(0, left);
  const body = bothEnds(subject, left - why.length, (hidden) =>
    inTone(look, 'dim', `${margin}… ${count(hidden, 'line')} not shown: v shows all`),
  );
  return fitted(look, [...title, ...body, ...why, ...choices]);
}

/** The first and the last of them, and between them how many are not shown. */
function bothEnds(
  lines: readonly string[],
  room: number,
  note: (hidden: number) => string,
): readonly string[] {
  if (lines.length <= room) return lines;
  if (room <= 0) return [];
  const head = Math.ceil((room - 1) / 2);
  const tail = room - 1 - head;
  const hidden = lines.length - head - tail;
  return [...lines.slice(0, head), note(hidden), ...lines.slice(lines.length - tail)];
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
