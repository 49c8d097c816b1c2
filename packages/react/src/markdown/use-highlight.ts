import { useEffect, useState } from 'react';
import type { CodePiece } from './highlight.ts';

/** Maximum length of highlighted code. Longer code would block the page. */
const maxLength = 100_000;

/**
 * Returns highlighted code. Returns undefined for plain text, and until the highlighter is loaded.
 */
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
      .then(({ highlight }) => highlight(text, language, () => isOver))
      .then((pieces) => !isOver && setFound({ text, pieces }))
      // If the highlighter cannot load, the code is shown without colors.
      .catch(() => {});
    return () => {
      isOver = true;
    };
  }, [text, language, isWorth]);
  return found?.text === text ? found.pieces : undefined;
}
