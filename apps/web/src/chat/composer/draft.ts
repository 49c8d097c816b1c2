import { useEffect, useState } from 'react';
import { local, readStored, writeStored } from '../../app/stored.ts';

/** What was typed and not sent, kept over a reload. One for each task. */
export function useDraft(of: string): readonly [string, (text: string) => void] {
  const key = `draft:${of}`;
  const [draft, setDraft] = useState(() => ({ key, text: readStored(local, key) ?? '' }));
  // Another task has another draft.
  const current = draft.key === key ? draft : { key, text: readStored(local, key) ?? '' };
  useEffect(() => {
    if (draft.key === key) writeStored(local, key, draft.text === '' ? undefined : draft.text);
  }, [draft, key]);
  return [current.text, (text) => setDraft({ key, text })];
}
