#if Web
    extension SearchFace {
        /// What `/openapi.yaml` answers; docs/openapi-search.yaml is the same text.
        package static let description = #"""
            openapi: 3.1.0
            info:
              title: Lockstep search
              version: "1.0"
              description: >-
                Searches that all nodes of a cluster share: the first that asks for a page makes the primary ask the backend
                once, and every node then answers from its own memory. Each node, primary or replica, may have this face; all
                answer alike.
            servers:
              - url: /
            paths:
              /search:
                get:
                  operationId: search
                  summary: A page of hits.
                  description: >-
                    From this node's memory if it has a fresh page; else as soon as the backend, which is asked once for all
                    nodes and clients, has answered. Where it fails and an older page is there, that page is answered with status
                    200, a `failure` that is not null, and the failure's kind as `detail` in `Cache-Status`.
                    A parameter that is not named here is refused.
                  parameters:
                    - name: q
                      in: query
                      required: true
                      description: >-
                        What to search for. Case and the space between words do not matter, except that AND, OR and NOT stay as
                        they are. At most 256 bytes of UTF-8 after that. Without any word there is nothing to be found, which is
                        no error.
                      schema: { type: string }
                      example: swift concurrency
                    - name: page
                      in: query
                      description: The page's number.
                      schema: { type: integer, minimum: 1, maximum: 1000, default: 1 }
                    - $ref: "#/components/parameters/IfNoneMatch"
                  responses:
                    "200":
                      description: The page; without hits if nothing was found, or after the last page.
                      headers:
                        Age: { $ref: "#/components/headers/Age" }
                        ETag: { $ref: "#/components/headers/ETag" }
                        Cache-Control: { $ref: "#/components/headers/CacheControl" }
                        Cache-Status: { $ref: "#/components/headers/CacheStatus" }
                        Lockstep-Node: { $ref: "#/components/headers/Node" }
                      content:
                        application/json:
                          schema: { $ref: "#/components/schemas/Answer" }
                    "304":
                      description: >-
                        What `If-None-Match` names is still right; the backend was asked if the page was no longer fresh. Age and
                        source are those of this answer's headers, not of the body that the client kept.
                      headers:
                        Age: { $ref: "#/components/headers/Age" }
                        ETag: { $ref: "#/components/headers/ETag" }
                        Cache-Control: { $ref: "#/components/headers/CacheControl" }
                        Cache-Status: { $ref: "#/components/headers/CacheStatus" }
                        Lockstep-Node: { $ref: "#/components/headers/Node" }
                    "400":
                      description: >-
                        A wrong request: missingQuery, repeatedParameter, unknownParameter, badEncoding, pageNotANumber,
                        pageOutOfRange, queryTooLong or badRequest.
                      content: { application/json: { schema: { $ref: "#/components/schemas/Problem" } } }
                    "403":
                      description: >-
                        A browser asks for a page of another site (otherSite): `Sec-Fetch-Site` is `cross-site` or `same-site`.
                      content: { application/json: { schema: { $ref: "#/components/schemas/Problem" } } }
                    "421":
                      description: >-
                        The face has a loopback address, and the request names another host than `localhost`, `127.0.0.1`, `[::1]` or
                        that address (otherHost).
                      content: { application/json: { schema: { $ref: "#/components/schemas/Problem" } } }
                    "422":
                      description: The backend does not take this query (refused).
                      content: { application/json: { schema: { $ref: "#/components/schemas/Problem" } } }
                    "502":
                      description: The backend failed (server), or cannot be understood (badAnswer), and no older page is there.
                      headers: { Retry-After: { $ref: "#/components/headers/RetryAfter" } }
                      content: { application/json: { schema: { $ref: "#/components/schemas/Problem" } } }
                    "503":
                      description: >-
                        The backend cannot be reached (offline) or takes no requests now (rateLimited) and no older page is there;
                        or the primary cannot be reached (unavailable), as much is under way as may be (busy, full), or the node
                        ends (stopping).
                      headers: { Retry-After: { $ref: "#/components/headers/RetryAfter" } }
                      content: { application/json: { schema: { $ref: "#/components/schemas/Problem" } } }
                    "504":
                      description: The backend did not answer in time (timeout), and no older page is there. It is still asked.
                      headers: { Retry-After: { $ref: "#/components/headers/RetryAfter" } }
                      content: { application/json: { schema: { $ref: "#/components/schemas/Problem" } } }
                    default: { $ref: "#/components/responses/Problem" }
              /health:
                get:
                  operationId: health
                  summary: Whether this node has all that the primary has.
                  responses:
                    "200":
                      description: The store is live.
                      content:
                        application/json:
                          schema: { $ref: "#/components/schemas/Health" }
                    "503":
                      description: It is not. What is in memory can be read all the same.
                      content:
                        application/json:
                          schema: { $ref: "#/components/schemas/Health" }
                    default: { $ref: "#/components/responses/Problem" }
              /metrics:
                get:
                  operationId: metrics
                  summary: Figures in the text format of Prometheus.
                  description: >-
                    `lockstep_search_*` is the cache's, the same on every node; `lockstep_face_*` is this face's.
                  responses:
                    "200":
                      description: The figures.
                      content:
                        text/plain:
                          schema: { type: string }
                    default: { $ref: "#/components/responses/Problem" }
              /openapi.yaml:
                get:
                  operationId: description
                  summary: This description.
                  responses:
                    "200":
                      description: This description.
                      content:
                        application/yaml:
                          schema: {}
                    default: { $ref: "#/components/responses/Problem" }
              /:
                get:
                  operationId: page
                  summary: A page in which a person searches.
                  responses:
                    "200":
                      description: The page.
                      content:
                        text/html:
                          schema: { type: string }
                    default: { $ref: "#/components/responses/Problem" }
            components:
              parameters:
                IfNoneMatch:
                  name: If-None-Match
                  in: header
                  description: Entity tags of former answers.
                  schema: { type: string }
                  example: 'W/"0123456789abcdef0123456789abcdef"'
              headers:
                Age:
                  description: Seconds since the backend gave the page, or said that it is still right; absent without one.
                  schema: { type: integer, minimum: 0 }
                ETag:
                  description: >-
                    Names the query, its page, the hits, their number and the failure: the same on every node. Weak, since
                    `ageSeconds`, `tookMicroseconds` and `source` differ between answers that have it.
                  schema: { type: string, pattern: '^W/"[0-9a-f]{32}"$' }
                CacheControl:
                  description: >-
                    `private, no-cache`: only the node knows whether a page is still fresh, so what a client keeps has to be asked
                    about, with `If-None-Match`.
                  schema: { type: string, const: "private, no-cache" }
                CacheStatus:
                  description: >-
                    RFC 9211. `lockstep; hit`: from memory. `lockstep; fwd=miss; stored`: the backend was asked, since there was no
                    page; `fwd=stale`: since it was not fresh. `collapsed`: somebody else had asked already. `detail`: the
                    failure's kind, or `nothing` if nobody had to be asked to know that there is no page.
                  schema: { type: string, pattern: '^lockstep; ' }
                RetryAfter:
                  description: Seconds; asking before is in vain.
                  schema: { type: integer, minimum: 1 }
                Node:
                  description: The name of the node that answered.
                  schema: { type: string }
              responses:
                Problem:
                  description: >-
                    404 notFound, 405 methodNotAllowed, 411 lengthRequired, 413 contentTooLarge (any body), 414 uriTooLong (above
                    8 KiB), 421 otherHost, 431 headersTooLarge (above 64 KiB or 100 fields), 500 failed, 503 full or stopping.
                  content: { application/json: { schema: { $ref: "#/components/schemas/Problem" } } }
              schemas:
                Answer:
                  type: object
                  additionalProperties: false
                  required: [query, page, hits, total, lastPage, source, ageSeconds, tookMicroseconds, failure]
                  properties:
                    query: { type: string, description: The query as it is kept. }
                    page: { type: integer, minimum: 1, maximum: 1000 }
                    hits: { type: array, maxItems: 100, items: { $ref: "#/components/schemas/Hit" } }
                    total: { type: [integer, "null"], description: "Hits on all pages, if that is known." }
                    lastPage: { type: [integer, "null"], description: "The number of the last page, if it is known." }
                    source:
                      type: string
                      enum: [memory, backend, joined, nothing]
                      description: >-
                        memory: no network was used, or there is only a page of before. backend: the backend was asked. joined:
                        somebody else had asked it already. nothing: nobody had to be asked.
                    ageSeconds: { type: [integer, "null"], minimum: 0, description: "As Age; null without a page." }
                    tookMicroseconds: { type: integer, minimum: 0, description: Time in the node. }
                    failure:
                      oneOf:
                        - type: "null"
                        - $ref: "#/components/schemas/Failure"
                Hit:
                  type: object
                  additionalProperties: false
                  required: [title, url, snippet]
                  properties:
                    title: { type: string }
                    url: { type: string }
                    snippet: { type: string }
                Failure:
                  type: object
                  additionalProperties: false
                  description: Why there is no newer page.
                  required: [kind, message, until]
                  properties:
                    kind:
                      type: string
                      description: Further kinds may be added.
                      examples: [offline, rateLimited, badAnswer, server, refused, timeout, busy, unavailable, stopping]
                    message: { type: string }
                    until:
                      type: [string, "null"]
                      format: date-time
                      description: The backend is not asked before this time.
                Health:
                  type: object
                  additionalProperties: false
                  required: [node, role, store, readiness, place]
                  properties:
                    node: { type: string }
                    role: { type: string, enum: [primary, replica, data] }
                    store: { type: string }
                    readiness: { type: string, enum: [connecting, catchingUp, live, stale, stopped] }
                    place:
                      type: object
                      additionalProperties: false
                      required: [epoch, sequence]
                      properties:
                        epoch: { type: integer, minimum: 0 }
                        sequence: { type: integer, minimum: 0 }
                Problem:
                  type: object
                  additionalProperties: false
                  required: [error, message, until]
                  properties:
                    error: { type: string, description: A word to decide by; further ones may be added. }
                    message: { type: string, description: What is wrong and what to do. }
                    until:
                      type: [string, "null"]
                      format: date-time
                      description: Asking before this time is in vain.

            """#
    }
#endif
