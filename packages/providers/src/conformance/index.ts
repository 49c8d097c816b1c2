export { conformanceCases } from './conformance-cases.ts';
export { ConformanceError } from './observe.ts';
export type {
  ConformanceAnswer,
  ConformanceCall,
  ConformanceCase,
  ConformanceLimitation,
  ConformanceSubject,
} from './subject.ts';
