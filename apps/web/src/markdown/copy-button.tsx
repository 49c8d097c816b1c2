import { useEffect, useState } from 'react';
import { IconButton } from '../design/button.tsx';
import { CheckIcon, CopyIcon } from '../design/icons.tsx';

const shownMs = 1500;

/**
 * A button that copies a text. If `text` is a function, it is called on the click, for texts that
 * are slow to build.
 */
export function CopyButton({
  text,
  label = 'Copy',
}: {
  readonly text: string | (() => string);
  readonly label?: string;
}) {
  const [state, setState] = useState<'ready' | 'copied' | 'failed'>('ready');
  useEffect(() => {
    if (state === 'ready') return;
    const timer = setTimeout(() => setState('ready'), shownMs);
    return () => clearTimeout(timer);
  }, [state]);
  const copy = () => {
    const copied = typeof text === 'string' ? text : text();
    // Browsers have a clipboard only for https and localhost.
    const written = navigator.clipboard?.writeText(copied) ?? Promise.reject();
    void written.then(
      () => setState('copied'),
      () => setState('failed'),
    );
  };
  const words = { ready: label, copied: 'Copied', failed: 'Cannot copy here' };
  return (
    <IconButton size="small" label={words[state]} onClick={copy}>
      {state === 'copied' ? <CheckIcon /> : <CopyIcon />}
    </IconButton>
  );
}
