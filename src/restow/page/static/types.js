// @ts-check
/**
 * The shapes that the server sends. docs/picture.md has the meaning of every field; a field that may be missing is
 * optional here, and readers treat it as null.
 *
 * @typedef {{records: number, seconds: number | null, source?: string}} Lag
 *
 * @typedef {object} Consumer
 * @property {string} phase
 * @property {string} since
 * @property {number} partitions
 * @property {number} capacity_bytes_per_s
 * @property {number} load_bytes_per_s
 * @property {Lag | null} [lag]
 * @property {number | null} [records_per_s]
 * @property {number | null} [bytes_per_s]
 * @property {boolean} [saturated]
 * @property {number | null} [cycle_s_mean]
 * @property {number | null} [cycle_s_max]
 * @property {number} [restarts]
 * @property {string | null} [settings]
 * @property {boolean} [outdated]
 * @property {boolean} [spare]
 * @property {number} [silent_s]
 * @property {{bytes_per_s: number, cycle_bytes: number} | null} [learned]
 *
 * @typedef {object} Partition
 * @property {number | null} consumer
 * @property {string | null} since
 * @property {number | null} bytes_per_s
 * @property {Lag | null} [lag]
 * @property {number | null} [catch_up_s]
 * @property {number | null} [moving_to]
 * @property {number | null} [refused_for_s]
 * @property {number | null} [retention_margin_s]
 * @property {number | null} [waits_for]
 * @property {boolean} [stuck]
 *
 * @typedef {object} Decision
 * @property {string} time
 * @property {string} cause
 * @property {string} summary
 * @property {string[]} [reasons]
 * @property {number} [more_reasons]
 * @property {boolean} [recommended]
 *
 * @typedef {object} Limits
 * @property {number} capacity_bytes_per_s
 * @property {number} fill_to
 * @property {number} trigger
 * @property {number} evict_to
 * @property {number} drain_to
 * @property {number} least_consumers
 * @property {number | null} most_consumers
 * @property {boolean} [capacity_is_learned]
 * @property {number} [close_after_s]
 *
 * @typedef {{until?: string | null, by?: string, at?: string, reason?: string}} Request
 *   What a person asked for through the service topic.
 *
 * @typedef {object} Overview
 * @property {string} group
 * @property {string} controller
 * @property {number} epoch
 * @property {string} time
 * @property {string} stage
 * @property {string} since
 * @property {Limits} limits
 * @property {Object<string, {words: string, since: string}>} [flags]
 * @property {string[]} [waiting_for]
 * @property {number | null} [speeds_age_s]
 * @property {Decision[]} [decisions]
 * @property {Object<string, {cost: number, bytes: number}>} [costs]
 * @property {Object<string, number>} [fixed_costs]
 * @property {Request | null} [paused]
 * @property {Request | null} [recommend_only]
 * @property {Object<string, Object<string, Request & {consumer: number}>>} [pins]  by topic and partition
 *
 * @typedef {object} Picture
 * @property {Overview} overview
 * @property {Object<string, Consumer>} consumers
 * @property {Object<string, Object<string, Partition>>} topics
 *
 * @typedef {object} Change  What differs from the last whole picture; null is what is gone.
 * @property {Overview} overview
 * @property {Object<string, Consumer | null>} consumers
 * @property {Object<string, Object<string, Partition | null>>} topics
 *
 * @typedef {object} Series  One value for each time; null where the server knows none.
 * @property {string[]} times
 * @property {(number | null)[]} consumers
 * @property {(number | null)[]} load_bytes_per_s
 * @property {(number | null)[]} capacity_bytes_per_s
 * @property {(number | null)[]} lag_records
 * @property {(number | null)[]} lag_seconds_max
 * @property {Decision[]} decisions
 *
 * @typedef {{kind: "consumer", number: number} | {kind: "partition", topic: string, number: number}} Subject
 *   What a person can select.
 */
export {};
