import { type KeyboardEvent, useId, useState } from 'react';
import { useLabels } from '../../labels/use-labels.ts';
import './suggestions.css';

/** An entry that the field for messages offers after `/` or `@`. */
export interface Suggestion {
  /** The text after `/` or `@`, such as `new` or `report.pdf`. */
  readonly name: string;
  /** A few words about the entry. Default: none. */
  readonly description?: string | undefined;
  /** Runs a command. Default: the name is inserted into the text. */
  readonly run?: (() => void) | undefined;
}

/** The suggestions that the message field offers. */
export interface ComposerSuggestions {
  /** Commands, after `/` at the start of the message. Default: none. */
  readonly commands?: readonly Suggestion[] | undefined;
  /** Files and other things to name, after `@`. Default: none. */
  readonly mentions?: readonly Suggestion[] | undefined;
}

interface Offer {
  readonly mark: '/' | '@';
  /** The position of the mark in the text. */
  readonly from: number;
  readonly entries: readonly Suggestion[];
}

const maxShown = 8;

/**
 * Returns what fits the text before the cursor. Returns undefined if the user does not write a command or
 * a mention, or if nothing fits.
 */
export function offerFor(
  text: string,
  cursor: number,
  { commands = [], mentions = [] }: ComposerSuggestions,
): Offer | undefined {
  const before = text.slice(0, cursor);
  const command = /^\/([\w-]*)$/.exec(before);
  const mention = /(?:^|\s)@([^\s@]*)$/.exec(before);
  const [, word] = command ?? mention ?? [];
  if (word === undefined) return undefined;
  const query = word.toLowerCase();
  const fits = (one: Suggestion) =>
    command === null
      ? one.name.toLowerCase().includes(query)
      : one.name.toLowerCase().startsWith(query);
  const entries = (command === null ? mentions : commands).filter(fits).slice(0, maxShown);
  if (entries.length === 0) return undefined;
  const mark = command === null ? '@' : '/';
  return { mark, from: cursor - word.length - 1, entries };
}

interface SuggestionsOptions extends ComposerSuggestions {
  readonly text: string;
  readonly setText: (text: string) => void;
}

/** Returns the list of suggestions, and the handlers and attributes of the field. */
export function useSuggestions({ text, setText, commands, mentions }: SuggestionsOptions) {
  const t = useLabels();
  const listId = useId();
  const [cursor, setCursor] = useState(0);
  const [chosen, setChosen] = useState(0);
  const [closedAt, setClosedAt] = useState<string>();
  const offer = closedAt === text ? undefined : offerFor(text, cursor, { commands, mentions });
  const index = Math.min(chosen, (offer?.entries.length ?? 1) - 1);
  const pick = (entry: Suggestion) => {
    if (offer === undefined) return;
    setChosen(0);
    if (entry.run !== undefined) {
      setText('');
      return entry.run();
    }
    setText(`${text.slice(0, offer.from)}${offer.mark}${entry.name} ${text.slice(cursor)}`);
    setCursor(offer.from + entry.name.length + 2);
  };
  /** Returns true if the key belongs to the list. */
  const onKey = (event: KeyboardEvent): boolean => {
    if (offer === undefined || event.nativeEvent.isComposing) return false;
    const { length } = offer.entries;
    const entry = offer.entries[index];
    if (event.key === 'ArrowDown') setChosen((index + 1) % length);
    else if (event.key === 'ArrowUp') setChosen((index + length - 1) % length);
    else if (event.key === 'Escape') setClosedAt(text);
    else if ((event.key === 'Enter' && !event.shiftKey) || event.key === 'Tab')
      entry !== undefined && pick(entry);
    else return false;
    event.preventDefault();
    event.stopPropagation();
    return true;
  };
  const list = offer !== undefined && (
    <div
      className="suggestions"
      role="listbox"
      id={listId}
      aria-label={offer.mark === '/' ? t.commands : t.files}
    >
      {offer.entries.map((entry, at) => (
        // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the field, which names the chosen entry
        // biome-ignore lint/a11y/useKeyWithClickEvents: the keys work in the field
        <div
          key={entry.name}
          id={`${listId}-${at}`}
          role="option"
          aria-selected={at === index}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => pick(entry)}
        >
          <b>
            {offer.mark}
            {entry.name}
          </b>{' '}
          <span>{entry.description}</span>
        </div>
      ))}
    </div>
  );
  const field = {
    'aria-autocomplete': 'list',
    'aria-controls': offer === undefined ? undefined : listId,
    'aria-activedescendant': offer === undefined ? undefined : `${listId}-${index}`,
  } as const;
  return { list, onKey, field, onCursor: setCursor };
}
