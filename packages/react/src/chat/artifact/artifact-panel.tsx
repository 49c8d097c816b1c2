import { useCallback, useId, useState } from 'react';
import { Button, IconButton } from '../../design/button.tsx';
import { ChevronIcon, CrossIcon, DownIcon, LeftIcon } from '../../design/icons.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { CodeView } from '../../markdown/code-view.tsx';
import { CopyButton } from '../../markdown/copy-button.tsx';
import { FrameView } from '../../markdown/rich/frame-view.tsx';
import type { Artifact, ArtifactKind } from './artifacts.ts';
import './artifact-panel.css';

/** The selected artifact and version. */
export interface ShownArtifact {
  readonly name: string;
  /** The index of the version. Undefined shows the latest one of the moment when it was opened. */
  readonly at?: number | undefined;
  /**
   * The key of the version. If the artifact no longer has this version, the panel runs no other version in its
   * place. Default: the version at the index.
   */
  readonly key?: string | undefined;
}

interface ArtifactPanelProps {
  readonly artifacts: readonly Artifact[];
  readonly shown: ShownArtifact;
  readonly onShow: (next: ShownArtifact) => void;
  readonly onClose: () => void;
  /** The name of the panel for screen readers. Default: Artifacts. */
  readonly label?: string | undefined;
}

/**
 * The panel beside the chat with the documents that the model wrote. A document runs in a frame without
 * network and with an origin of its own. Another version starts only when the user selects it.
 */
export function ArtifactPanel(props: ArtifactPanelProps) {
  const t = useLabels();
  const { artifacts, shown, onShow, onClose, label = t.artifacts } = props;
  const [isSource, setSource] = useState(false);
  const [failed, setFailed] = useState<string>();
  const selectId = useId();
  const artifact = artifacts.find(({ name }) => name === shown.name) ?? artifacts.at(-1);
  const count = artifact?.versions.length ?? 0;
  const kept = artifact?.versions.findIndex(({ key }) => key === shown.key) ?? -1;
  const at = kept >= 0 ? kept : Math.min(shown.at ?? count - 1, count - 1);
  const version = artifact?.versions[at];
  const onFailed = useCallback(() => setFailed(version?.key), [version]);
  if (artifact === undefined || version === undefined) return null;
  const { name, kind } = artifact;
  const show = (next: Artifact, to: number) =>
    onShow({ name: next.name, at: to, key: next.versions[to]?.key });
  const go = (to: number) => show(artifact, to);
  const isHeld = shown.key !== undefined && shown.key !== version.key;
  const hasFailed = failed === version.key;
  return (
    <aside className="artifact-panel" aria-label={label}>
      <header className="artifact-head">
        <label className="unseen" htmlFor={selectId}>
          {t.artifact}
        </label>
        <select
          id={selectId}
          value={name}
          onChange={({ target }) => {
            const next = artifacts.find((one) => one.name === target.value);
            if (next !== undefined) show(next, next.versions.length - 1);
          }}
        >
          {artifacts.map((one) => (
            <option key={one.name}>{one.name}</option>
          ))}
        </select>
        <fieldset className="branch-switch" aria-label={t.versions}>
          <IconButton
            size="small"
            label={t.previousVersion}
            disabled={at <= 0}
            onClick={() => go(at - 1)}
          >
            <LeftIcon />
          </IconButton>
          <span>
            {at + 1} / {count}
          </span>
          <IconButton
            size="small"
            label={t.nextVersion}
            disabled={at >= count - 1}
            onClick={() => go(at + 1)}
          >
            <ChevronIcon />
          </IconButton>
        </fieldset>
        <span className="artifact-actions">
          <Button size="small" look="quiet" onClick={() => setSource(!isSource)}>
            {isSource ? t.preview : t.source}
          </Button>
          <CopyButton text={version.text} label={t.copyTheSource} />
          <IconButton size="small" label={t.download} onClick={() => download(name, version.text)}>
            <DownIcon />
          </IconButton>
          <IconButton size="small" label={t.closeTheArtifacts} onClick={onClose}>
            <CrossIcon />
          </IconButton>
        </span>
      </header>
      <div className="artifact-body">
        {isSource || hasFailed || isHeld ? (
          <>
            {hasFailed && (
              <p className="artifact-note" role="alert">
                {t.previewClosed}
              </p>
            )}
            <CodeView text={version.text} lang={languages[kind]} isDone />
          </>
        ) : (
          <FrameView
            key={version.key}
            kind={kind === 'react' ? 'react' : 'document'}
            text={version.text}
            title={t.previewOfVersion(name, at + 1)}
            onFailed={onFailed}
          />
        )}
      </div>
    </aside>
  );
}

const languages: Readonly<Record<ArtifactKind, string>> = {
  html: 'html',
  svg: 'xml',
  react: 'jsx',
};

/**
 * Saves a document as a file. The blob has the type of binary data. With the type of HTML, the browser could
 * run the document with this page's origin.
 */
function download(path: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = path.split(/[/\\]/).at(-1) || 'artifact.txt';
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
