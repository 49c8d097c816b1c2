import { withLargestWidths } from '../../text/cells/cell-width.ts';
import type { ChoiceItem, ChoiceList, Dialog, PickList } from '../contract/dialog.ts';
import { dialogKey } from '../dialog/choice-list.ts';
import { dialogContent } from '../dialog/dialog-content.ts';
import { dialogTitle } from '../dialog/dialog-title.ts';
import type { ContentView } from '../dialog/read-content.ts';
import { clipText, type Look } from '../render/look.ts';

interface DialogText {
  /** All lines of the question, its content and its numbered choices. */
  readonly lines: readonly string[];
  /** The line about the keys, which follows the other lines. */
  readonly hint: string;
  readonly view: ContentView;
}

/** Minimum width of the window. In a narrower window, a user cannot read a request. */
const minColumns = 8;

/** Returns a dialog as lines of text. No line is cut, so all of its content is shown. */
export function dialogText(
  look: Look,
  dialog: Dialog,
  { list, columns }: { readonly list: ChoiceList; readonly columns: number },
): DialogText {
  return withLargestWidths(() => textOf(look, dialog, { list, columns }));
}

function textOf(
  look: Look,
  dialog: Dialog,
  { list, columns }: { readonly list: ChoiceList; readonly columns: number },
): DialogText {
  const content = dialogContent(look, dialog);
  const isPick = dialog.type === 'pick';
  const lines = [
    ...(isPick ? [] : ['Waiting for your answer.']),
    ...dialogTitle(look, dialog),
    ...content,
    ...list.items.map((_, index) => choiceText(look, list, index)),
  ];
  return {
    lines,
    hint: dialog.type === 'pick' ? pickHint(dialog.pick) : clipText(keyHint(list), look.width),
    view: {
      ...{ key: dialogKey(dialog), content, from: 0, to: content.length },
      isTooNarrow: !isPick && dialog.type !== 'question' && columns < minColumns,
      preview: dialog.type === 'approval' ? dialog.preview : undefined,
    },
  };
}

function pickHint({ edit }: PickList): string {
  const change = edit === undefined ? '' : ` A number and Ctrl-E ${edit.verb}.`;
  return `Type a number and press Enter.${change} Words and Enter filter the list. Esc cancels.`;
}

function keyHint({ items, selected, ticked }: ChoiceList): string {
  const enter = items[selected]?.label ?? '';
  const keys = `one key alone: a number or a letter. Enter: ${enter}. Up and Down select. Esc stops.`;
  return ticked === undefined
    ? `Wait for "Answer", then press ${keys}`
    : `Wait for "Answer". Up, Down and numbers select, Space ticks, Enter answers. Esc stops.`;
}

/** Returns a choice with its number, its key and whether it is ticked. */
export function choiceText(look: Look, { items, ticked }: ChoiceList, index: number): string {
  const item: ChoiceItem = items[index] ?? { label: '' };
  const key = item.letter === undefined ? '' : ` (${item.letter})`;
  const detail = item.detail === undefined ? '' : `: ${item.detail}`;
  const tick = ticked?.has(index) === true ? ', ticked' : '';
  return clipText(`${index + 1}. ${item.label}${key}${detail}${tick}`, look.width);
}
