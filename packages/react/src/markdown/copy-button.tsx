import { useEffect, useState } from 'react';
import { IconButton } from '../design/button.tsx';
import { CheckIcon, CopyIcon } from '../design/icons.tsx';
import { useLabels } from '../labels/use-labels.ts';

const shownMs = 1500;

/**
 * A button that copies a text. `text` can be a function, which is called on the click. Use this for
 * texts that are slow to build.
 */
export function CopyButton({
  text,
  label,
}: {
  readonly text: string | (() => string);
  readonly label?: string;
}) {
  const t = useLabels();
  const [state, setState] = useState<'ready' | 'copied' | 'failed'>('ready');
  useEffect(() => {
    if (state === 'ready') return;
    const timer = setTimeout(() => setState('ready'), shownMs);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = () => {
    const copied = typeof text === 'string' ? text : text();
    // Browsers provide a clipboard only for https and localhost.
    const written = navigator.clipboard?.writeText(copied) ?? Promise.reject();
    void written.then(
      () => setState('copied'),
      () => setState('failed'),
    );
  };
  const words = { ready: label ?? t.copy, copied: t.copied, failed: t.cannotCopy };
  return (
    <IconButton size="small" label={words[state]} onClick={copy}>
      {state === 'copied' ? <CheckIcon /> : <CopyIcon />}
    </IconButton>
  );
}
