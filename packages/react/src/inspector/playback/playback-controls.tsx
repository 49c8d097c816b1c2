import { Button, IconButton } from '../../design/button.tsx';
import type { Labels } from '../../labels/labels.ts';
import { useLabels } from '../../labels/use-labels.ts';
import {
  BackIcon,
  EndIcon,
  ForwardIcon,
  PauseIcon,
  PlayIcon,
  StartIcon,
} from '../inspector-icons.tsx';
import { type Player, type Speed, speeds } from './playback.ts';

interface PlaybackControlsProps {
  readonly player: Player;
  readonly isLive: boolean;
  readonly isRunning: boolean;
  /** True if the session cannot grow, so that there is no current state to return to. Default: false. */
  readonly isRecording?: boolean | undefined;
  readonly shortenPauses: boolean;
  readonly onShortenPauses: (shortenPauses: boolean) => void;
  readonly onToggle: () => void;
  readonly onStart: () => void;
  readonly onStep: (by: 1 | -1) => void;
  readonly onLive: () => void;
}

/** The buttons that play, pause, step, change the speed, and return to the current state. */
export function PlaybackControls(props: PlaybackControlsProps) {
  const t = useLabels();
  const { player, isLive, isRunning, isRecording = false } = props;
  const { onToggle, onStart, onStep, onLive } = props;
  return (
    <div className="transport" role="toolbar" aria-label={t.playback}>
      <div className="transport-keys">
        <IconButton size="small" label={t.toTheStart} onClick={onStart}>
          <StartIcon />
        </IconButton>
        <IconButton size="small" label={t.oneRecordBack} onClick={() => onStep(-1)}>
          <BackIcon />
        </IconButton>
        <IconButton
          size="small"
          look="plain"
          label={player.isPlaying ? t.pause : t.play}
          onClick={onToggle}
        >
          {player.isPlaying ? <PauseIcon /> : <PlayIcon />}
        </IconButton>
        <IconButton
          size="small"
          label={t.oneRecordForward}
          disabled={isLive}
          onClick={() => onStep(1)}
        >
          <ForwardIcon />
        </IconButton>
        <IconButton
          size="small"
          label={isRecording ? t.toTheEnd : t.toNow}
          disabled={isLive}
          onClick={onLive}
        >
          <EndIcon />
        </IconButton>
      </div>
      <SpeedChoice player={player} />
      <PauseChoice {...props} />
      {isRecording ? null : isLive ? (
        <span className="transport-live" data-running={isRunning || undefined}>
          {isRunning ? t.live : t.now}
        </span>
      ) : (
        <Button size="small" look="main" onClick={onLive}>
          {t.backToNow}
        </Button>
      )}
    </div>
  );
}

const speedName = (speed: Speed, t: Labels) => (speed === 'at once' ? t.maximum : `${speed}×`);

function SpeedChoice({ player }: { readonly player: Player }) {
  const t = useLabels();
  return (
    <select
      className="transport-speed"
      aria-label={t.speed}
      value={String(player.speed)}
      onChange={({ target }) => {
        const speed = speeds.find((one) => String(one) === target.value);
        if (speed !== undefined) player.setSpeed(speed);
      }}
    >
      {speeds.map((speed) => (
        <option key={speed} value={String(speed)}>
          {speedName(speed, t)}
        </option>
      ))}
    </select>
  );
}

function PauseChoice({
  shortenPauses,
  onShortenPauses,
}: Pick<PlaybackControlsProps, 'shortenPauses' | 'onShortenPauses'>) {
  const t = useLabels();
  return (
    <label className="transport-check" title={t.shortenPausesHint}>
      <input
        type="checkbox"
        checked={shortenPauses}
        onChange={({ target }) => onShortenPauses(target.checked)}
      />
      {t.shortenPauses}
    </label>
  );
}
