import { useEffect, useState } from 'react';
import type { CodePiece } from './highlight.ts';

/** Longer ones stay as they are: colours are not worth a stutter. */
const maxLength = 100_000;

/** The pieces, once the highlighter is there; undefined until then, and where there is nothing to colour. */
export function useHighlight(
  text: string,
  lang: string | undefined,
): readonly CodePiece[] | undefined {
  const [found, setFound] = useState<{ text: string; pieces: readonly CodePiece[] | undefined }>();
  const language = lang?.trim().split(/\s/, 1)[0] ?? '';
  const isWorth = language !== '' && text.length <= maxLength;
  useEffect(() => {
    if (!isWorth) return;
    let isOver = false;
    void import('./highlight.ts')
      .then(({ highlight }) => !isOver && setFound({ text, pieces: highlight(text, language) }))
      // Without colours it can be read as well.
      .catch(() => {});
    return () => {
      isOver = true;
    };
  }, [text, language, isWorth]);
  return found?.text === text ? found.pieces : undefined;
}
