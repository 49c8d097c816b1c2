import { useEffect, useState } from 'react';
import { IconButton } from '../design/button.tsx';
import { CheckIcon, CopyIcon } from '../design/icons.tsx';

const shownMs = 1500;

/**
 * A button that copies a text. `text` can be a function, which is called on the click. Use this for
 * texts that are slow to build.
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
    // Browsers provide a clipboard only for https and localhost.
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
